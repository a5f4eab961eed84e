# shellcheck shell=bash
# The harness of the real programs: sourced by every .t of this folder, it owns
# the scratch folder, the two runs of a command (bare, then with the library),
# their comparison, and the TAP lines.
#
#   same [-x CODE] [-t SECONDS] [-p "PROG..."] [-e] [-q] NAME COMMAND...
#       COMMAND must end with CODE (0) within SECONDS (60) on its own and with
#       the library, and print the same both times, on stdout and stderr.
#       -p names further programs it starts; a missing one makes a SKIP
#       -e leaves stderr uncompared (it holds times or process ids)
#       -q says that nothing on stdout is right (else silence is a failure:
#          comparing nothing with nothing proves nothing)
#   pass NAME / fail NAME / skip NAME REASON / note TEXT / finish
#   both [-p "PROG..."] NAME FUNCTION
#       for what cannot be compared as text: FUNCTION is called twice, with
#       "bare" and "preloaded", in a clean folder, starts programs by `run`,
#       and returns 0 when all it asked for was so
#   run [-t SECONDS] COMMAND...   as the side under test; output untouched
#   start [-t SECONDS] COMMAND... the same, in the background, as process $started
#
# REAL_VERBOSE=1 shows what the commands of passing tests print.
#
# A command never sees the caller's environment, so that settings of the
# machine (or of prove) decide nothing.

set -u
ulimit -c 0
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
# shellcheck disable=SC2034  # for the .t files
programs=$here/programs
LIBFIX=${LIBFIX:-${CARGO_TARGET_DIR:-$root/target}/release/libfix.so}
case $LIBFIX in /*) ;; *) LIBFIX=$root/$LIBFIX ;; esac

unset LD_PRELOAD
# The distribution's programs, whatever else the caller has in front of them.
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH LC_ALL=C.UTF-8

if [ ! -f "$LIBFIX" ]; then
    printf 'not ok 1 - the library is built\n# no file %s: cargo build --release\n1..1\n' "$LIBFIX"
    exit 1
fi
work=$(mktemp -d) || exit 1
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/home" "$work/tmp" "$work/lib"
# A build that runs meanwhile must not change what is tested, and a path with a
# blank or a colon cannot be preloaded at all.
cp "$LIBFIX" "$work/lib/libfix.so" && LIBFIX=$work/lib/libfix.so || exit 1
clean=(PATH="$PATH" HOME="$work/home" TMPDIR="$work/tmp" LC_ALL=C.UTF-8 TZ=UTC
    LOGNAME=tester USER=tester TERM=dumb SHELL=/bin/sh)
count=0
failures=0
side=bare

note() { printf '%s\n' "$*" | sed 's/^/# /'; }
pass() { count=$((count + 1)); printf 'ok %d - %s\n' "$count" "$1"; }
fail() {
    count=$((count + 1)) failures=$((failures + 1))
    printf 'not ok %d - %s\n' "$count" "$1"
}
skip() { count=$((count + 1)); printf 'ok %d - %s # SKIP %s\n' "$count" "$1" "$2"; }
finish() {
    if [ "$count" = 0 ]; then
        printf 'not ok 1 - %s tests something\n1..1\n' "$0"
        exit 1
    fi
    printf '1..%d\n' "$count"
    [ "$failures" = 0 ]
    exit
}

# A whole file about one program: nothing to say without it.
require() {
    local p
    for p; do
        if ! command -v "$p" >/dev/null; then
            printf '1..0 # SKIP %s is not installed\n' "$p"
            exit 0
        fi
    done
}

# The command line of COMMAND as the side under test, in the array `full`.
arm() {
    local limit=60
    if [ "$1" = -t ]; then
        limit=$2
        shift 2
    fi
    local preload=()
    [ "$side" = preloaded ] && preload=(LD_PRELOAD="$LIBFIX")
    full=(timeout -k 2 "$limit" env -i "${clean[@]}" "${preload[@]}" "$@")
}
run() {
    arm "$@"
    "${full[@]}"
}
# A signal to what $started names reaches the program, and its end is waited for.
start() {
    arm "$@"
    # Without the redirection a program in the background reads /dev/null.
    "${full[@]}" <&0 &
    # shellcheck disable=SC2034  # for the .t files
    started=$!
}

fresh_folder() {
    cd / && rm -rf "${work:?}/run" "${work:?}/home" "${work:?}/tmp" &&
        mkdir "$work/run" "$work/home" "$work/tmp" && cd "$work/run" || exit 1
}

# Is the library in this program at all? A static program would pass everything.
declare -A carries
library_reaches() {
    local p=$1
    if [ -z "${carries[$p]:-}" ]; then
        carries[$p]=no
        timeout -k 1 10 env -i "${clean[@]}" LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD="$LIBFIX" \
            "$p" </dev/null 2>/dev/null | grep -qF -- "$LIBFIX" && carries[$p]=yes
    fi
    [ "${carries[$p]}" = yes ]
}

# What the library or the loader said about itself on the side with the library.
complaint() {
    grep -E '^libfix: |cannot be preloaded|stack smashing|symbol lookup error' "$1" | head -3
}

excerpt() {
    local line
    head -n 12 "$1" | cut -c1-300 | while IFS= read -r line; do printf '#   %s\n' "$line"; done
}

# usable NAME PROG...: may the test go on? Else its TAP line is printed here.
usable() {
    local name=$1 p
    shift
    for p; do
        if ! command -v "$p" >/dev/null; then
            skip "$name" "$p is not installed"
            return 1
        fi
        if ! library_reaches "$p"; then
            fail "$name"
            note "the library is not loaded by $p"
            return 1
        fi
    done
}

same() {
    local want=0 limit=60 needs='' errs=yes silent=no OPTIND=1 o
    while getopts x:t:p:eq o; do
        case $o in
            x) want=$OPTARG ;;
            t) limit=$OPTARG ;;
            p) needs=$OPTARG ;;
            e) errs=no ;;
            q) silent=yes ;;
            *) printf 'Bail out! bad use of same in %s\n' "$0"; exit 2 ;;
        esac
    done
    shift $((OPTIND - 1))
    local name=$1
    shift
    # shellcheck disable=SC2086  # a list of names
    usable "$name" "$1" $needs || return
    local -A rc
    for side in bare preloaded; do
        fresh_folder
        run -t "$limit" "$@" </dev/null >"$work/$side.out" 2>"$work/$side.err"
        rc[$side]=$?
    done
    cd "$work" || exit 1
    local why=''
    if [ "${rc[bare]}" != "$want" ]; then
        why="bare, the command itself ends with ${rc[bare]}, not $want"
    elif [ "$silent" = no ] && [ ! -s "$work/bare.out" ]; then
        why="bare, the command prints nothing"
    elif [ "${rc[preloaded]}" != "$want" ]; then
        why="preloaded, exit code ${rc[preloaded]}, bare $want"
        case ${rc[preloaded]} in 124 | 137) why="$why (124 and 137: still running after $limit s)" ;; esac
    elif ! cmp -s "$work/bare.out" "$work/preloaded.out"; then
        why="stdout differs"
    elif [ "$errs" = yes ] && ! cmp -s "$work/bare.err" "$work/preloaded.err"; then
        why="stderr differs"
    elif [ -n "$(complaint "$work/preloaded.err")" ]; then
        why="preloaded, a complaint on stderr"
    fi
    if [ -z "$why" ]; then
        pass "$name"
        [ -n "${REAL_VERBOSE:-}" ] && excerpt "$work/bare.out" && excerpt "$work/bare.err"
        return
    fi
    fail "$name"
    note "$why"
    if [ "${rc[bare]}" != "$want" ]; then
        excerpt "$work/bare.err"
    else
        note "stdout, bare against preloaded:"
        diff -a "$work/bare.out" "$work/preloaded.out" >"$work/diff"
        excerpt "$work/diff"
        note "stderr, preloaded:"
        excerpt "$work/preloaded.err"
    fi
}

# FUNCTION says what it found by its exit code and prints why on stdout.
both() {
    local needs='' rc
    if [ "$1" = -p ]; then
        needs=$2
        shift 2
    fi
    local name=$1 f=$2
    # shellcheck disable=SC2086  # a list of names
    usable "$name" $needs || return
    for side in bare preloaded; do
        fresh_folder
        "$f" "$side" </dev/null >"$work/$side.out" 2>"$work/$side.err"
        rc=$?
        cd "$work" || exit 1
        if [ "$rc" != 0 ] ||
            { [ "$side" = preloaded ] && [ -n "$(complaint "$work/$side.err")" ]; }; then
            fail "$name"
            note "$side: exit code $rc, or a complaint"
            excerpt "$work/$side.out"
            excerpt "$work/$side.err"
            return
        fi
    done
    pass "$name"
    [ -n "${REAL_VERBOSE:-}" ] && excerpt "$work/preloaded.out"
    return 0
}

# For the functions of `both`: one comparison; a wait of ten seconds at most for
# a command to become true; the process of a name among those a process started.
says() { # WHAT EXPECTED GOT
    [ "$2" = "$3" ] && return
    echo "$1: expected '$2', got '$3'"
    return 1
}
wait_until() {
    local rounds=200
    until "$@" 2>/dev/null; do
        rounds=$((rounds - 1))
        [ "$rounds" -gt 0 ] || return 1
        sleep 0.05
    done
}
descendant() { # PID NAME
    cat /proc/[0-9]*/status 2>/dev/null | awk -v top="$1" -v name="$2" '
        $1 == "Name:" { n = $2 }
        $1 == "Pid:" { p = $2; called[p] = n }
        $1 == "PPid:" { above[p] = $2 }
        END {
            for (p in called) if (called[p] == name)
                for (q = above[p]; q > 1; q = above[q]) if (q == top) { print p; exit }
        }' | grep .
}

# May this process lock memory without a limit? Bit 14 is CAP_IPC_LOCK.
may_lock() {
    [ "$(ulimit -l)" = unlimited ] ||
        [ $((0x$(awk '/^CapEff/ { print $2 }' /proc/self/status) >> 14 & 1)) = 1 ]
}
