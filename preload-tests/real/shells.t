#!/bin/bash
# The shells: bash and dash, whose subshells fork in the middle of everything.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

same "bash substitutes, pipes and waits" bash -c '
    x=$(for i in 1 2 3; do (echo $i | cat) & done; wait)
    printf "%s\n" $x | sort | tr -d "\n"; echo
    y=$(echo $(echo $(echo $(echo deep)))); echo "$y"
    mapfile -t a < <(seq 2000); echo ${#a[@]} ${a[1999]}
    diff <(seq 5) <(seq 6) || echo differs
    echo one two | { read -r p q; echo "$q $p"; }'

same "bash grows strings and arrays" bash -c '
    s=; for ((i = 0; i < 20000; i++)); do s+=xy; done; echo ${#s}
    declare -A m; for ((i = 0; i < 5000; i++)); do m[k$i]=$((i * i)); done
    for ((i = 0; i < 5000; i += 2)); do unset "m[k$i]"; done; echo ${#m[@]} ${m[k4999]}
    t=${s//xy/abcd}; echo ${#t}; [[ $t =~ (abcd)+$ ]] && echo ${#BASH_REMATCH[0]}
    a=($(seq 3000)); b=("${a[@]:100:50}"); echo ${b[*]: -1}; printf %q "$(printf "a b\n\tc")"; echo'

same "bash runs a coprocess, traps and here-documents" bash -c '
    coproc sed -u s/a/b/g; echo banana >&${COPROC[1]}; read -r l <&${COPROC[0]}; echo $l
    eval "exec ${COPROC[1]}>&-"; wait
    trap "echo got usr1" USR1; kill -USR1 $$; trap "echo bye" EXIT
    cat <<E
$(seq 3 | paste -sd+ | (read -r e; echo $((e))))
E
    f() { local n=$1; ((n < 2)) && echo $n || echo $(($(f $((n - 1))) + $(f $((n - 2))))); }; f 9'

same "bash hands a hundred children's codes back" bash -c '
    p=(); for i in {1..100}; do (exit $i) & p+=($!); done
    s=0; for i in "${p[@]}"; do wait $i; ((s += $?)); done; echo $s'

same "bash lives with few descriptors" bash -c \
    'exec 3>f; echo hi >&3; exec 3>&-; read -r a <f; echo $a; ulimit -n 32; sh -c "echo in"; echo $(echo sub)'

same -x 7 -q "bash passes its exit code on" bash -c 'exit 7'
same -x 143 -q "bash dies of SIGTERM" bash -c 'kill -TERM $$; sleep 5'
same -x 127 -q "bash says that a command is not found" bash -c 'no-such-command-anywhere'

same "dash substitutes, redirects and waits" dash -c '
    exec 3>f; echo hi >&3; exec 3>&-; read -r a <f; echo $a
    x=$(for i in 1 2 3 4; do (echo $i) & done; wait); for i in $x; do echo $i; done | sort | tr -d "\n"
    f() { [ $1 -lt 2 ] && echo $1 || echo $(($(f $(($1 - 1))) + $(f $(($1 - 2))))); }; f 10
    i=0; s=; while [ $i -lt 5000 ]; do s=${s}ab; i=$((i + 1)); done; echo ${#s}
    trap "echo term" TERM; kill -TERM $$; ulimit -n 64; sh -c "echo in"'

same "dash starts five hundred children" dash -c \
    'i=0; while [ $i -lt 500 ]; do /bin/true || echo bad; i=$((i + 1)); done; echo $i'

same -x 137 -q "dash sees a killed child" dash -c 'sh -c "kill -KILL \$\$"'
finish
