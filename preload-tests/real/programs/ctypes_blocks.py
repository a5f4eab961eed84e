# ctypes asks a handle on libc for malloc; such blocks end in the free, realloc
# and malloc_usable_size that every program sees.
import ctypes

glob = ctypes.CDLL(None)
libc = ctypes.CDLL("libc.so.6")
for lib in (glob, libc):
    for name in ("malloc", "calloc", "realloc", "memalign"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.free.restype = None
    lib.malloc_usable_size.restype = ctypes.c_size_t
ptr, size = ctypes.c_void_p, ctypes.c_size_t

for n in (1, 24, 1000, 70000, 200000, 5000000):
    blocks = [
        libc.malloc(size(n)),
        libc.calloc(size(n), size(2)),
        libc.memalign(size(64), size(n)),
        libc.realloc(None, size(n)),
    ]
    assert all(blocks)
    for b in blocks:
        assert b % 16 == 0
        assert glob.malloc_usable_size(ptr(b)) >= n
        ctypes.memset(b, 0x5A, n)
    keep = blocks.pop()
    for b in blocks:
        glob.free(ptr(b))
    grown = glob.realloc(ptr(keep), size(3 * n))
    assert ctypes.string_at(grown, n) == b"\x5a" * n
    glob.free(ptr(grown))

for i in range(20000):
    glob.free(ptr(libc.malloc(size(i % 3000))))

# Blocks that libc makes inside its own functions.
glob.strdup.restype = ctypes.c_void_p
for i in range(1000):
    s = glob.strdup(b"x" * i)
    assert ctypes.string_at(s) == b"x" * i
    glob.free(ptr(s))
line, room = ctypes.c_void_p(), size()
glob.fopen.restype = ctypes.c_void_p
f = glob.fopen(b"/proc/self/status", b"r")
n = 0
while glob.getline(ctypes.byref(line), ctypes.byref(room), ptr(f)) > 0:
    n += 1
glob.fclose(ptr(f))
glob.free(line)
print("lines", n > 20)

# A callback called back from qsort in the middle of C.
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
a = (ctypes.c_int * 5000)(*[(i * 7919) % 5003 for i in range(5000)])
glob.qsort(a, size(5000), size(4), kind(lambda x, y: x[0] - y[0]))
print(list(a) == sorted(a))
