# The interpreter as a heavy user of the heap: containers, text, numbers,
# compression, a database, and a collector that drops cycles.
import bz2
import decimal
import gc
import hashlib
import json
import lzma
import pickle
import random
import re
import sqlite3
import zlib

random.seed(1)
words = ["".join(random.choices("abcdefgh", k=random.randint(1, 30))) for _ in range(60000)]
index = {}
for i, w in enumerate(words):
    index.setdefault(w[:2], []).append((i, w))
print(len(index), sum(map(len, index.values())))
text = json.dumps(index, sort_keys=True)
print(len(text), hashlib.sha256(text.encode()).hexdigest())
print(len(json.loads(text)), len(pickle.loads(pickle.dumps(index))))
for c in (zlib, bz2, lzma):
    packed = c.compress(text.encode()[:600000])
    print(c.__name__, c.decompress(packed) == text.encode()[:600000])
print(len(re.findall(r"(?:ab)+c", text)), re.sub("[a-d]+", "", text)[:50])

x = bytearray()
for i in range(2000):
    x += bytes([i % 256]) * (i % 700)
print(len(x), hashlib.md5(x).hexdigest())
big = [bytearray(n * 100000) for n in range(40)]
del big[::2]
big += [bytearray(n * 90000) for n in range(40)]
print(sum(map(len, big)))
for _ in range(20000):
    a, b = [], {}
    a.append(b)
    b["a"] = a
print(gc.collect() >= 0)
decimal.getcontext().prec = 2000
print(str(decimal.Decimal(2).sqrt())[-30:], len(hex(3**200000)))
db = sqlite3.connect(":memory:")
db.execute("create table t(a, b)")
db.executemany("insert into t values(?, ?)", ((i, w) for i, w in enumerate(words)))
print(db.execute("select count(distinct b), max(length(b)) from t").fetchone())
