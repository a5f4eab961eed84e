"""What an interpreter spends its days on, in fixed amounts: text, parsing, objects, containers.

Kinds of work known from Python's public benchmark suites, each written anew and small. Prints one
digest of all results, which must not depend on the allocator.
"""
import ast
import hashlib
import json
import random
import re
import string
import sys

rng = random.Random(12)
digest = hashlib.sha256()


def note(value):
    digest.update(repr(value).encode())


def json_round_trip():
    doc = {"rows": [{"id": i, "name": f"row {i}", "tags": [str(i * k) for k in range(5)], "x": i / 7}
                    for i in range(1500)]}
    for _ in range(6):
        text = json.dumps(doc, sort_keys=True)
        doc = json.loads(text)
    note(len(text))


def words_and_regex():
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 11))) for _ in range(4000)]
    text = " ".join(rng.choices(words, k=60000))
    found = re.findall(r"\b[a-m]\w*[aeiou]\b", text)
    swapped = re.sub(r"(\w+) (\w+)", r"\2 \1", text)
    count = {}
    for w in swapped.split():
        count[w] = count.get(w, 0) + 1
    note((len(found), sorted(count.items(), key=lambda p: (-p[1], p[0]))[:20]))


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)


def objects():
    points = [Vec(float(i % 17), float(i % 23)) for i in range(2000)]
    total = Vec(0.0, 0.0)
    for _ in range(25):
        points = [p * 0.5 + Vec(1.0, 2.0) for p in points]
        for p in points:
            total = total + p
    note((round(total.x, 6), round(total.y, 6)))


class Event:
    def __init__(self, due, name):
        self.due, self.name, self.history = due, name, []


def events():
    import heapq
    queue = [(i % 97, i, Event(i % 97, f"e{i}")) for i in range(3000)]
    heapq.heapify(queue)
    for step in range(30000):
        due, i, event = heapq.heappop(queue)
        event.history.append((due, step))
        if len(event.history) > 8:
            event = Event(due, event.name)
        heapq.heappush(queue, (due + 1 + (i * 31 + step) % 89, i, event))
    note(sum(len(e.history) for _, _, e in queue))


def source_code():
    lines = []
    for i in range(250):
        lines.append(f"def f{i}(a, b=[{i}], *c, **d):\n"
                     f"    for x in range({i}):\n"
                     f"        if x % {i + 2} == 1: a.append((x, 'k{i}', b[0] * x))\n"
                     f"    return {{k: v for k, v in d.items() if k != '{i}'}}\n")
    source = "\n".join(lines)
    for _ in range(3):
        tree = ast.parse(source)
        code = compile(tree, "made up", "exec")
    note((len(ast.dump(tree)), len(code.co_consts)))


def big_numbers_and_sets():
    a, b = 1, 1
    for _ in range(6000):
        a, b = b, a + b
    note(b % (10 ** 18))
    seen = set()
    for i in range(120000):
        seen.add((i * 7919) % 65537)
        if i % 3 == 0:
            seen.discard((i * 104729) % 65537)
    note(len(seen))


def buffers():
    out = bytearray()
    for i in range(40000):
        out += bytes([i & 255]) * (i % 37)
    parts = [bytes(out[k:k + 3000]) for k in range(0, len(out), 2000)]
    note(hashlib.sha256(b"".join(sorted(parts))).hexdigest())


def queens(n=7):
    def place(row, cols, down, up):
        if row == n:
            return 1
        return sum(place(row + 1, cols | {c}, down | {row - c}, up | {row + c})
                   for c in range(n) if c not in cols and row - c not in down and row + c not in up)
    note(place(0, frozenset(), frozenset(), frozenset()))


for work in (json_round_trip, words_and_regex, objects, events, source_code, big_numbers_and_sets, buffers, queens):
    work()
sys.stdout.write(digest.hexdigest() + "\n")
