#!/bin/bash
# The real-time community's own tools: cyclictest and its neighbours lock
# themselves, start threads and measure them.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require cyclictest chrt awk

lock_reason="needs CAP_IPC_LOCK or ulimit -l unlimited"
# These tools refuse to measure without it.
if ! chrt -f 1 true 2>/dev/null; then
    printf '1..0 # SKIP may not set a real-time priority (needs CAP_SYS_NICE or ulimit -r)\n'
    exit 0
fi

# Starts cyclictest, reads what it has locked while it runs, and reads its report.
cyclic() { # LOCKED OPTION...
    local locked=$1 pid child rss='' bad=0
    lck=''
    shift
    start -t 20 cyclictest -q -D 2 -i 1000 "$@" >report 2>errors
    pid=$started
    # A second on, all threads have started and are in their rhythm.
    wait_until descendant "$pid" cyclictest >/dev/null && sleep 1
    child=$(descendant "$pid" cyclictest)
    lck=$(awk '/^VmLck/ { print $2 }' "/proc/$child/status")
    rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$child/status")
    wait "$pid" || { echo "exit code $?"; cat errors; bad=1; }
    # T: 0 ( 1234) P: 0 I:1000 C:   1998 Min: 5 Act: 8 Avg: 9 Max: 200
    awk -v want="$threads" '/^T:/ { n++; sub(/.*C: */, ""); if ($1 < 200) few++ }
        END { if (n != want || few) print n + 0 " threads for " want ", " few + 0 " of them with few rounds"; exit n != want || few }' report || bad=1
    grep -i 'warn\|fail\|error' errors | grep -v '/dev/cpu_dma_latency' && bad=1
    if [ "$locked" = yes ]; then
        [ "${lck:-0}" -gt 0 ] || { echo "nothing locked: VmLck ${lck:-unread}"; bad=1; }
    else
        # Four kB are its own, mlock by name.
        [ "${lck:-999}" -lt 100 ] || { echo "locked unasked: VmLck ${lck:-unread}"; bad=1; }
    fi
    echo "VmLck ${lck:-?} kB, VmRSS ${rss:-?} kB"
    return $bad
}

threads=4
unlocked() { cyclic no -t4; }
both -p cyclictest "cyclictest measures four threads" unlocked
if may_lock; then
    locked() { cyclic yes -m -t4; }
    both -p cyclictest "cyclictest locks itself and measures four threads" locked
    eight() {
        threads=8
        cyclic yes -m -t8 || return 1
        [ "$side" = bare ] || [ "$lck" -lt 6144 ]
    }
    both -p cyclictest "cyclictest with eight threads has less than 6 MB locked with the library" eight
    prio() { threads=2; cyclic yes -m -t2 -p 80; }
    both -p cyclictest "cyclictest runs its threads under SCHED_FIFO" prio
else
    skip "cyclictest locks itself and measures four threads" "$lock_reason"
    skip "cyclictest with eight threads has less than 6 MB locked with the library" "$lock_reason"
    skip "cyclictest runs its threads under SCHED_FIFO" "$lock_reason"
fi

# Pairs of threads that hand over to each other; each prints a line per pair.
pair() {
    local lines
    run -t 20 "${tool[@]}" >out 2>&1 || { echo "exit code $?"; tail -5 out; return 1; }
    lines=$(grep -c "$sign" out)
    [ "$lines" -ge 1 ] || { echo "no line with $sign"; tail -5 out; return 1; }
}
tool=(signaltest -q -l 200 -t 4) sign='C: *200'
both -p signaltest "signaltest passes signals round four threads" pair
tool=(ptsematest -q -l 500 -t 2) sign='Max'
both -p ptsematest "ptsematest hands semaphores over" pair
tool=(hackbench -T -g 2 -f 5 -l 100) sign='^Time:'
both -p hackbench "hackbench sends messages between twenty threads" pair
tool=(hackbench -P -g 2 -f 5 -l 100)
both -p hackbench "hackbench sends messages between twenty processes" pair
if may_lock; then
    tool=(signaltest -m -q -l 200 -t 4) sign='C: *200'
    both -p signaltest "signaltest passes signals round four threads, locked" pair
else
    skip "signaltest passes signals round four threads, locked" "$lock_reason"
fi
finish
