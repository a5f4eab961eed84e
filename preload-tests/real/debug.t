#!/bin/bash
# Looking at a program that carries the library, from outside: gdb and strace
# see its threads, names and calls as they do bare; and both tools carry it.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require gcc

cat >"$work/idle.c" <<'E'
/* Five threads that wait, one of them deep in named functions, until a line comes or stdin ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t ready;
static int pipes[2];
__attribute__((noinline)) static void bottom(char *block) { char c; block[0] = 'b'; pthread_barrier_wait(&ready); if (read(pipes[0], &c, 1)) abort(); block[1] = 'c'; }
__attribute__((noinline)) static void middle(int n) { if (n) middle(n - 1); else bottom(malloc(100)); __asm__ volatile(""); }
static void *deep(void *p) { middle(3); return p; }
static void *shallow(void *p) { char c; free(malloc(1000)); pthread_barrier_wait(&ready); if (read(pipes[0], &c, 1)) abort(); return p; }
int main(void) {
    pthread_t t[5]; char c;
    if (pipe(pipes)) return 1;
    pthread_barrier_init(&ready, 0, 6);
    for (int i = 0; i < 5; i++) if (pthread_create(t + i, 0, i ? shallow : deep, 0)) return 2;
    pthread_barrier_wait(&ready);
    puts("ready"); fflush(stdout);
    while (read(0, &c, 1) > 0 && c != '\n') ;
    close(pipes[1]);
    for (int i = 0; i < 5; i++) if (pthread_join(t[i], 0)) return 3;
    puts("end");
    return 9;
}
E
gcc -g -O1 -fno-optimize-sibling-calls -pthread -o "$work/idle" "$work/idle.c" || fail "the program compiles"

# May one process trace another here at all?
tracing=yes
if command -v strace >/dev/null && ! strace -o /dev/null true 2>/dev/null; then tracing=no; fi

if [ "$tracing" = no ]; then
    skip "gdb and strace look at a threaded program" "this machine lets no process trace another"
    finish
fi

# A program that has gone through the loader, attached to, looked at, let go.
attached() {
    local pid target rc
    # Open for both, so that neither side waits for the other to open it.
    mkfifo in && exec 7<>in || return 1
    start -t 60 "$work/idle" <in >out 2>err
    pid=$started
    wait_until grep -q ready out || return 1
    target=$(descendant "$pid" idle) || { echo 'the program is not there'; return 1; }
    # gdb itself is the side under test as well.
    run -t 60 gdb -nx -q -batch -p "$target" -ex 'info threads' -ex 'thread apply all bt' -ex 'thread find idle' -ex detach >gdb.out 2>&1 || { echo "gdb: exit code $?"; return 1; }
    echo >&7
    exec 7>&-
    wait "$pid"
    rc=$?
    says "the program's end after gdb let it go" "9 end" "$rc $(tail -1 out)" || return 1
    [ "$(grep -c '^Thread [0-9]* (Thread' gdb.out)" = 6 ] || { echo 'not six threads'; cat gdb.out; return 1; }
    [ "$(grep -c ' middle (n=' gdb.out)" = 4 ] || { echo 'the frames do not show'; cat gdb.out; return 1; }
    [ "$(grep -Ec ' in (deep|shallow) \(p=' gdb.out)" = 5 ] || { echo 'the first functions do not show'; cat gdb.out; return 1; }
    ! grep -q 'corrupt stack\|Cannot access memory' gdb.out || { cat gdb.out; return 1; }
}
both -p gdb "gdb attaches to threads and sees their frames from the start" attached

broken() {
    run -t 60 gdb -nx -q -batch -ex 'set confirm off' -ex 'set debuginfod enabled off' -ex 'break bottom' -ex run -ex bt -ex 'print block[0]=65' -ex 'print *block' \
        -ex finish -ex delete -ex continue "$work/idle" </dev/null >gdb.out 2>&1 || { echo "gdb: exit code $?"; return 1; }
    if ! { grep -q 'hit Breakpoint 1' gdb.out && [ "$(grep -c ' = 65 ' gdb.out)" = 2 ] &&
        grep -q '^0x[0-9a-f]* in middle (n=' gdb.out && [ "$(grep -c ' middle (n=' gdb.out)" = 5 ] &&
        grep -q 'exited with code 011' gdb.out; }; then
        cat gdb.out
        return 1
    fi
}
both -p gdb "gdb starts a program, breaks in a thread and changes its block" broken

watched() {
    run -t 60 strace -f -o trace "$work/idle" </dev/null >out || [ $? = 9 ] || { echo "strace: exit code $?"; return 1; }
    [ "$(tail -1 out)" = end ] || return 1
    [ "$(grep -Ec 'clone3?\(.*(CLONE_THREAD|flags=)' trace)" = 5 ] || { echo 'not five clones'; grep clone trace; return 1; }
    [ "$(grep -c '+++ exited with' trace)" = 6 ] || { echo 'not six ends'; grep '+++' trace; return 1; }
    # What the library asks the kernel must succeed or be a plain probe of memory.
    ! grep -E '(SIGSEGV|SIGBUS|SIGABRT)' trace
}
both -p strace "strace follows all threads of a program" watched
counts() {
    run -t 60 strace -f -c -o sums sh -c 'for i in 1 2 3; do /bin/echo $i | cat; done' >out || { echo "strace: exit code $?"; return 1; }
    says "the shell's output" "$(seq 3)" "$(cat out)" || return 1
    grep -q ' execve$' sums || { cat sums; return 1; }
}
both -p strace "strace counts the calls of a shell's children" counts
finish
