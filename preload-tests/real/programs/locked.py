# A Python process that locks itself, then starts threads and uses the heap.
import ctypes
import threading

libc = ctypes.CDLL(None, use_errno=True)
print("mlockall", libc.mlockall(3))
threading.stack_size(256 * 1024)
out = []
ts = [threading.Thread(target=lambda: out.append(len([bytearray(100) for _ in range(1000)]))) for _ in range(8)]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(out)
blocks = [bytearray(100000) for _ in range(50)]
del blocks
with open("/proc/self/status") as f:
    locked = next(int(x.split()[1]) for x in f if x.startswith("VmLck"))
print("locked", locked > 1000)
print("munlockall", libc.munlockall())
