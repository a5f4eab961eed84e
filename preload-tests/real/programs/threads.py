# Threads under Python: every stack size it can ask for, thread-local values,
# locks, queues, a recursion deep enough to use the stack, and many short lives.
import queue
import threading


def recurse(n):
    return 0 if n == 0 else 1 + recurse(n - 1)


for size in (0, 32768, 65536, 262144, 1 << 20, 64 << 20):
    threading.stack_size(size)
    out = []
    t = threading.Thread(target=lambda: out.append(sum(range(1000))))
    t.start()
    t.join()
    print(size, out)

threading.stack_size(0)
out = []
t = threading.Thread(target=lambda: out.append(recurse(900)))
t.start()
t.join()
print("recursed", out)

local = threading.local()
seen = queue.Queue()


def keep(i):
    local.value = bytearray(i * 100)
    seen.put((i, len(local.value)))


for _ in range(20):
    ts = [threading.Thread(target=keep, args=(i,)) for i in range(20)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
got = sorted(seen.get() for _ in range(400))
print(len(got), got[0], got[-1])

# Blocks made by one thread and dropped by another.
q = queue.Queue(maxsize=50)
total = [0]


def make():
    for i in range(5000):
        q.put([str(i)] * (i % 40))
    q.put(None)


def drop():
    while (x := q.get()) is not None:
        total[0] += len(x)


ts = [threading.Thread(target=make), threading.Thread(target=drop)]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(total, threading.active_count())
