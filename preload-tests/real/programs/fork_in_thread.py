# fork called by a thread that is not the first, with others alive; the child
# starts threads of its own, forks again and leaves by the normal way.
import os
import threading

go = threading.Event()
idle = [threading.Thread(target=go.wait) for _ in range(10)]
for t in idle:
    t.start()
codes = []


def child():
    out = []
    ts = [threading.Thread(target=lambda: out.append(len("x" * 100000))) for _ in range(5)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    pid = os.fork()
    if pid == 0:
        os._exit(sum(out) // 100000 + 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def parent():
    for _ in range(10):
        pid = os.fork()
        if pid == 0:
            os._exit(child())
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


t = threading.Thread(target=parent)
t.start()
t.join()
go.set()
for t in idle:
    t.join()
print(codes)
