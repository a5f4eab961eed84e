#!/bin/bash
# The facts about the settings: what they accept, what a bad value does, and that a program with
# raised privileges ignores them. (What LIBFIX_STACK_LOCK and LIBFIX_LOCK do is in facts/locked.)
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"

for program in worker burst secure refused; do
  "$CC" "${flags[@]}" -o "$build/$program" "$tests_dir/settings/$program.c" 2>"$build/cc" ||
    bail "settings/$program.c does not compile: $(head -n 3 "$build/cc")"
done
out=$build/out err=$build/err

# run SETTING... -- PROGRAM ARGUMENTS...: preloaded, with these settings; sets rc
run() {
  local -a settings=()
  while [ "$1" != -- ]; do
    settings+=("$1")
    shift
  done
  shift
  timeout -k 2 30 env "${settings[@]}" LD_PRELOAD="$preload" "$@" <"/dev/null" >"$out" 2>"$err"
  rc=$?
}
# check NAME CONDITION...: one test; the condition is a command
check() {
  local name=$1
  shift
  if "$@"; then
    say_ok "$name"
  else
    say_bad "$name"
    {
      echo "failed: $*"
      explain "$rc"
      cat "$out" "$err"
    } | diag
  fi
}
is() { [ "$1" = "$2" ]; }
at_least() { [ -n "$1" ] && [ "$1" -ge "$2" ]; }
at_most() { [ -n "$1" ] && [ "$1" -le "$2" ]; }
empty() { [ ! -s "$1" ]; }
lines() { wc -l <"$1" | tr -d ' '; }
# figure NAME [FILE]: the value of a line of the report
figure() { sed -nE "s/^libfix: $1 ([0-9]+)( [A-Za-z]+)?\$/\\1/p" "${2:-$err}"; }
well_formed() { [ -s "$1" ] && ! grep -vqE '^libfix: [a-z][a-z ]* [0-9]+( [A-Za-z]+)?$' "$1"; }
names='threads created|stacks mapped|stacks reused|stack bytes|guard bytes|heap in use|heap peak|heap mapped|locked'
complete() { [ "$(grep -cE "^libfix: ($names) [0-9]+" "$1")" = "$2" ]; }

# ---- the report ----
run -- "$build/worker" 50 0 256 1024
check "without a setting the exit code is the program's" is "$rc" 3
check "without a setting nothing is said" empty "$err"

run LIBFIX_STATS=1 -- "$build/worker" 50 0 256 1024
check "LIBFIX_STATS=1 leaves the exit code alone" is "$rc" 3
check "LIBFIX_STATS=1 leaves standard output alone" empty "$out"
check "every line of the report is 'libfix: NAME VALUE [UNIT]'" well_formed "$err"
check "the report names threads, stacks, guards, heap and locked memory, each once" complete "$err" 9
check "it counts the threads created" is "$(figure 'threads created')" 50
check "each of them ran on a mapped or a reused stack" is "$(($(figure 'stacks mapped') + $(figure 'stacks reused')))" 50
check "threads that run one at a time reuse their stacks" at_most "$(figure 'stacks mapped')" 3
check "the heap in use is what the program holds, at least" at_least "$(figure 'heap in use')" $((3 << 20))
check "the heap in use is what the program holds, at most" at_most "$(figure 'heap in use')" $((4 << 20))
check "the peak of the heap is what the program held, at least" at_least "$(figure 'heap peak')" $((6 << 20))
check "the peak of the heap is what the program held, at most" at_most "$(figure 'heap peak')" $((9 << 20))
check "what is mapped is no less than what is in use" at_least "$(figure 'heap mapped')" "$(figure 'heap in use')"
check "an unlocked program has nothing locked" is "$(figure locked)" 0

run LIBFIX_STATS=1 -- "$build/worker" 0 8 256 1024
check "eight threads with stacks of 256 KiB: bytes of stack" is "$(figure 'stack bytes')" $((8 * 256 << 10))
check "eight threads with guards of 1 MiB: bytes of guard" is "$(figure 'guard bytes')" $((8 << 20))
check "a program that ends with threads running is reported too" is "$(figure 'threads created')" 8

run LIBFIX_STATS=1 -- "$build/worker" 0 4 256 64 lock
if [ "$rc" = 77 ]; then
  say_skip "a locked program's locked memory is reported" "needs CAP_IPC_LOCK"
else
  check "a locked program's locked memory is reported" at_least "$(figure locked)" 1024
fi

report=$build/scratch/report
rm -f "$report"
run LIBFIX_STATS="$report" -- "$build/worker" 5 0 256 1024
check "LIBFIX_STATS=PATH leaves standard error alone" empty "$err"
check "LIBFIX_STATS=PATH leaves the exit code alone" is "$rc" 3
check "LIBFIX_STATS=PATH writes the report to the file" complete "$report" 9
check "the file's lines are those of the report" well_formed "$report"
check "the file counts the threads" is "$(figure 'threads created' "$report")" 5
run LIBFIX_STATS="$report" -- "$build/worker" 6 0 256 1024
check "a second program's report is added to the file" is "$(figure 'threads created' "$report" | tr '\n' ' ')" "5 6 "
run LIBFIX_STATS="$build/none/such/file" -- "$build/worker" 5 0 256 1024
check "a report that cannot be written leaves the exit code alone" is "$rc" 3
check "a report that cannot be written is told in one line" is "$(lines "$err"):$(cut -c1-8 <"$err")" "1:libfix: "
run LIBFIX_STATS=0 -- "$build/worker" 5 0 256 1024
check "LIBFIX_STATS=0 is no report" empty "$err"
check "LIBFIX_STATS=0 leaves the exit code alone" is "$rc" 3

# ---- the cache of stacks ----
run -- "$build/burst" 8 4096
check "by default eight stacks of 4 MiB are kept" at_least "$(cat "$out")" 8
run -- "$build/burst" 32 4096
check "by default as many are kept as were in use at once" is "$(cat "$out")" 32
run LIBFIX_STACK_CACHE=40M -- "$build/burst" 32 4096
check "LIBFIX_STACK_CACHE=40M keeps no more, whatever was in use" is "$(cat "$out")" 9
run -- sh -c "ulimit -v 4000000 && exec $build/burst 32 4096"
check "where address space is limited, 40 MiB are kept by default" is "$(cat "$out")" 9
run LIBFIX_STACK_CACHE=0 -- "$build/burst" 8 4096
check "LIBFIX_STACK_CACHE=0 keeps none" is "$(cat "$out")" 0
run LIBFIX_STATS=1 LIBFIX_STACK_CACHE=0 -- "$build/worker" 50 0 256 4
check "LIBFIX_STACK_CACHE=0: every thread gets a new stack" is "$(figure 'stacks mapped') $(figure 'stacks reused')" "50 0"
for value in 13000000 13000K 13M 13m 13000k; do
  run LIBFIX_STACK_CACHE=$value -- "$build/burst" 8 4096
  check "LIBFIX_STACK_CACHE=$value keeps three of 4 MiB" is "$(cat "$out")" 3
done
for value in 1G 1g 268435456 262144K; do
  run LIBFIX_STACK_CACHE=$value -- "$build/burst" 24 4096
  check "LIBFIX_STACK_CACHE=$value keeps twenty-four of 4 MiB" is "$(cat "$out")" 24
done

# ---- why a thread could not be had ----
# told WHAT LIMIT HELP: the line names the limit, what is used and allowed of it, and a remedy
told() {
  run LIBFIX_VERBOSE=1 -- "$build/refused" "$1"
  if [ "$rc" = 77 ]; then
    say_skip "a refusal by $1 is explained" "the limit does not hold here"
    return
  fi
  local need='needed a stack of [0-9]+ kB and a guard of 64 kB'
  local want="^libfix: pthread_create: EAGAIN: $need; $2: [0-9]+ of [0-9]+[a-zA-Z ]* used; .*$3"
  check "a refusal by $1 is explained in one line" is "$rc:$(lines "$err"):$(grep -cE "$want" "$err")" 0:1:1
  run -- "$build/refused" "$1"
  check "a refusal by $1 is not explained unasked" is "$rc:$(lines "$err")" 0:0
}
told locked 'locked memory \(RLIMIT_MEMLOCK\)' LIBFIX_STACK_LOCK
told space 'address space \(RLIMIT_AS\)' 'ulimit -v'
told mappings 'mappings \(vm.max_map_count\)' vm.max_map_count
told commit 'committed memory \(vm.overcommit_memory\)' overcommit_memory
told threads 'threads, this process alone \([a-zA-Z._-]+\)' '(ulimit -u|sysctl)'
run LIBFIX_VERBOSE=1 -- "$build/refused" none
check "LIBFIX_VERBOSE=1 says nothing of threads that are had" is "$rc:$(lines "$err")" 0:0

# ---- bad values ----
for value in x -1 10Q 1KB 1.5M '' K ' 4M' 99999999999999999999 0x10; do
  run LIBFIX_STACK_CACHE="$value" -- "$build/burst" 8 4096
  want="^libfix: LIBFIX_STACK_CACHE=$value: expected .*; using the default\$"
  check "LIBFIX_STACK_CACHE='$value' is told in one line" is "$(lines "$err"):$(grep -cE "$want" "$err")" 1:1
  check "LIBFIX_STACK_CACHE='$value' means the default" is "$rc:$(cat "$out")" 0:8
done
for value in yes 2 -; do
  run LIBFIX_STATS="$value" -- "$build/worker" 5 0 256 4
  want="^libfix: LIBFIX_STATS=$value: expected .*; using the default\$"
  check "LIBFIX_STATS='$value' is told in one line" is "$(lines "$err"):$(grep -cE "$want" "$err")" 1:1
  check "LIBFIX_STATS='$value' leaves the exit code alone" is "$rc" 3
done
for bad in STACK_LOCK=some STACK_LOCK= STACK_LOCK=-1 STACK_LOCK=Full LOCK=64K LOCK= VERBOSE=2 VERBOSE=; do
  run "LIBFIX_$bad" -- "$build/worker" 5 0 256 4
  want="^libfix: LIBFIX_$bad: expected .*; using the default\$"
  check "LIBFIX_$bad is told in one line" is "$rc:$(lines "$err"):$(grep -cE "$want" "$err")" 3:1:1
done
for good in STACK_LOCK=full STACK_LOCK=onfault STACK_LOCK=0 STACK_LOCK=64k LOCK=full LOCK=onfault VERBOSE=0 VERBOSE=1; do
  run "LIBFIX_$good" -- "$build/worker" 5 0 256 4
  check "LIBFIX_$good is accepted" is "$rc:$(lines "$err")" 3:0
done
run LIBFIX_STATS=x LIBFIX_STACK_CACHE=x -- "$build/worker" 5 0 256 4
check "two bad values are told in two lines" is "$(lines "$err"):$rc" 2:3
long=$(printf '%05000d' 7)x
run LIBFIX_STACK_CACHE="$long" -- "$build/burst" 8 4096
check "a very long bad value is told in one line" is "$(lines "$err"):$rc" 1:0
run LIBFIX_NONSENSE=1 -- "$build/worker" 5 0 256 4
check "variables of other names are nobody's business" is "$(lines "$err"):$rc" 0:3

# ---- raised privileges ----
# as_other PROGRAM: run by an ordinary user with the settings; a set-user-id program is then secure
as_other() {
  timeout -k 2 30 setpriv --reuid 65534 --regid 65534 --clear-groups env LIBFIX_STATS=1 LIBFIX_STACK_CACHE=bad \
    "${@:2}" "$1" <"/dev/null" >"$out" 2>"$err"
  rc=$?
}
if [ "$(id -u)" != 0 ]; then
  say_skip "settings are ignored under raised privileges" "needs root to make a set-user-id program"
else
  # Linked with the library, since the loader drops a preloaded path from a secure program.
  "$CC" "${flags[@]}" -o "$build/secure-linked" "$tests_dir/settings/secure.c" -Wl,--no-as-needed "$preload" \
    -Wl,-rpath,"$build" 2>"$build/cc" || bail "settings/secure.c does not link: $(head -n 3 "$build/cc")"
  as_other "$build/secure-linked"
  check "settings work in a program linked with the library" is "$rc:$(cat "$out")" "4:secure 0 library 1"
  check "and both are heard there" at_least "$(lines "$err")" 8
  chmod 4755 "$build/secure-linked" "$build/secure"
  as_other "$build/secure-linked"
  if [ "$(cut -d' ' -f1,2 <"$out")" != "secure 1" ]; then
    say_skip "settings are ignored under raised privileges" "set-user-id has no effect here"
  else
    check "a set-user-id program linked with the library runs" is "$rc:$(cat "$out")" "4:secure 1 library 1"
    check "it ignores the settings" empty "$err"
    as_other "$build/secure" LD_PRELOAD="$preload"
    check "a set-user-id program that the loader does not preload runs" is "$rc:$(cat "$out")" "4:secure 1 library 0"
    if command -v setcap >/dev/null && chmod 755 "$build/secure" && setcap cap_net_raw+ep "$build/secure" 2>/dev/null; then
      as_other "$build/secure" LD_PRELOAD="$preload"
      check "a program with file capabilities runs" is "$rc:$(cat "$out")" "4:secure 1 library 0"
    else
      say_skip "a program with file capabilities runs" "setcap is missing or not supported by the file system"
    fi
  fi
fi
finish
