#!/bin/bash
# Python: threads, processes of all three kinds, ctypes, and an interpreter's
# own heap, which lives on large blocks and many small ones.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require python3

py() { # NAME FILE [ARG...]
    local name=$1 file=$2
    shift 2
    same "$name" python3 -X faulthandler "$programs/$file" "$@"
}

py "python starts threads of many stack sizes" threads.py
py "python ends with daemon threads running" daemons.py
py "python forks workers from a threaded parent" processes.py fork
py "python spawns workers" processes.py spawn
py "python forks workers from a server" processes.py forkserver
py "python forks inside threads" fork_in_thread.py
py "python builds and drops large and small objects" objects.py
py "python hands libc's own blocks to free" ctypes_blocks.py
py "python runs coroutines and a thread pool" coroutines.py
if may_lock; then
    py "python locks itself and starts threads" locked.py
else
    skip "python locks itself and starts threads" "needs CAP_IPC_LOCK or ulimit -l unlimited"
fi
same "python compiles its library and runs its own unit tests" python3 -c '
import compileall, sys, io, unittest, pathlib, os
src = pathlib.Path(os.__file__).parent
names = sorted(p for p in src.glob("[a-d]*.py"))
print(len(names) > 20, all(compile(p.read_text(), str(p), "exec") for p in names))
class T(unittest.TestCase):
    def test_a(self): self.assertEqual(sum(range(10)), 45)
out = io.StringIO(); r = unittest.TextTestRunner(out).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)); print(r.wasSuccessful())'
same -x 1 -e -q "python ends with a traceback" python3 -c 'import threading; threading.Thread(target=print).join() if 0 else 1/0'
same -x 134 -e -q "python aborts" python3 -c 'import os; os.abort()'
finish
