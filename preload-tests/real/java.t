#!/bin/bash
# Java: a virtual machine that reads its stacks' bounds from pthread_getattr_np,
# guards them itself and catches its own overflows.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require java javac

# The machine's size must not decide which collector is meant.
options="-Xmx128m -Xss512k -XX:-UsePerfData"
cp "$programs/Threads.java" "$work/"

same -t 100 "javac compiles, byte for byte the same" bash -c \
    'javac -J-Xmx128m -J-XX:-UsePerfData -d . "$1" && md5sum ./*.class' - "$work/Threads.java"
env -i "${clean[@]}" javac -J-Xmx128m -d "$work/classes" "$work/Threads.java" >"$work/javac.log" 2>&1 || note "$(cat "$work/javac.log")"
for collector in Serial G1; do
    # shellcheck disable=SC2086  # a list of options
    same -t 100 "java runs a threaded program over the $collector collector" \
        java $options -XX:+Use${collector}GC -cp "$work/classes" Threads
done
# shellcheck disable=SC2086
same -x 3 -t 100 "java exits from a thread" java $options -cp "$work/classes" Threads exit
# shellcheck disable=SC2086
same -x 1 -e -t 100 "java runs out of its heap" java -Xmx16m $options -Xmx16m -cp "$work/classes" Threads full
# shellcheck disable=SC2086
same -x 143 -t 100 "java runs its hooks when it is told to end" java $options -cp "$work/classes" Threads term
finish
