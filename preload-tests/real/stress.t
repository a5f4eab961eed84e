#!/bin/bash
# stress-ng: each stressor checks what it does itself; it must end well, say so,
# and have done something.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require stress-ng setpriv python3

# Two seconds for each stressor. The right to lock without limit is given up
# first, and the limit set: a stressor that locks all it can get must not take
# the machine.
stressor() {
    local rc bad=0
    run -t 40 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock sh -c \
        'ulimit -l 8192; exec stress-ng --temp-path . --verify --metrics --yaml out.yaml --timeout 2 "$@"' - "${options[@]}" >log 2>&1
    rc=$?
    [ "$rc" = 0 ] || { echo "exit code $rc"; bad=1; }
    grep -q 'successful run completed' log || { echo 'no word of success'; bad=1; }
    ! grep -E ' fail: | error: |[Aa]bort|terminated|[Ss]egm|SIGSEGV|SIGABRT|SIGBUS|corrupt' log || bad=1
    # Each stressor named has its count of rounds.
    awk -v want="$wanted" '$1 == "bogo-ops:" { n++; if ($2 < 1) none++ } END { if (n != want || none) print n + 0 " counts for " want ", " none + 0 " of them 0"; exit n != want || none }' out.yaml || bad=1
    [ "$bad" = 0 ] || tail -15 log
    return $bad
}
stress() { # NAME STRESSORS OPTION...
    local name=$1
    wanted=$2
    shift 2
    options=("$@")
    both -p "stress-ng setpriv sh" "$name" stressor
}

stress "stress-ng creates threads" 1 --pthread 2 --pthread-max 64
stress "stress-ng allocates in several threads" 1 --malloc 2 --malloc-bytes 4M --malloc-max 200 --malloc-pthreads 2 --malloc-touch
stress "stress-ng clones" 1 --clone 2 --clone-max 32
stress "stress-ng forks and vforks" 2 --fork 1 --fork-max 8 --vfork 1 --vfork-max 8
stress "stress-ng locks and unlocks memory" 1 --mlock 2
stress "stress-ng starts daemons" 1 --daemon 1
stress "stress-ng blocks and wakes threads" 3 --mutex 1 --mutex-procs 4 --futex 1 --sem 1
stress "stress-ng searches and sorts" 4 --tsearch 1 --tsearch-size 4096 --hsearch 1 --heapsort 1 --heapsort-size 16384 --list 1
stress "stress-ng overflows stacks and switches contexts" 3 --stack 1 --context 1 --sigsegv 1
stress "stress-ng maps, unmaps and gives advice" 3 --mmap 1 --mmap-bytes 8M --madvise 1 --mremap 1 --mremap-bytes 8M
stress "stress-ng moves the program break" 1 --brk 1 --brk-notouch
stress "stress-ng compresses" 1 --zlib 1
finish
