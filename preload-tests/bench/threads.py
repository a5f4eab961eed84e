"""scripts/bench threads: how fast threads come and go, and what the kernel is asked for each.

The floor is a bare clone of a thread that exits at once, with a futex wait: what no library can go
below without fewer kernel threads. It runs under glibc only, since it calls nothing of a library's.
"""
import os
import re
import shutil
import subprocess

import stacks
from common import Bench, Failed, HERE, PATH, median, num, plain_env, ratios, say, table

KINDS = ("one", "batch", "detached", "alloc")
PROCESSES = (1, 2, 4, 20)
PAIRS = {1: 16384, 2: 8192, 4: 4096, 20: 1024}
CALLS = (512, 2560)


def rows():
    """name: (kind, processes, one CPU only, a busy neighbour on each CPU)"""
    r = {f"{k}-{p}": (k, p, False, False) for k in KINDS for p in PROCESSES}
    r["one-one-cpu"] = ("one", 1, True, False)
    r["alloc-one-cpu"] = ("alloc", 1, True, False)
    r["one-busy"] = ("one", 1, False, True)
    r["one-one-cpu-busy"] = ("one", 1, True, True)
    return r


def names():
    return list(rows()) + ["python3-threads"] + [f"calls-{k}" for k in KINDS]


def run(args):
    bench = Bench(args, peers=False, threads=True)
    try:
        wanted = args.only or names()
        program = bench.build("threads/churn.c")
        rates(bench, program, wanted)
        calls(bench, program, [k for k in KINDS if f"calls-{k}" in wanted])
        return bench.finish()
    finally:
        bench.close()


class Neighbours:
    """Busy processes, one per CPU, while a row runs that wants them."""

    def __init__(self, wanted):
        self.wanted, self.running = wanted, []

    def __enter__(self):
        for _ in range(os.cpu_count() if self.wanted else 0):
            self.running.append(subprocess.Popen(["sh", "-c", "while :; do :; done"], env=plain_env()))

    def __exit__(self, *_):
        for p in self.running:
            p.kill()
            p.wait()


def rates(bench, program, wanted):
    out, sides = [], bench.here()
    others = [s.name for s in bench.sides if s.name != "glibc"]
    for name, (kind, processes, pinned, busy) in rows().items():
        if name not in wanted:
            continue
        pairs = PAIRS[processes] // (8 if bench.args.quick else 1) // (2 if busy else 1)
        opts = ["-c", str(max(os.sched_getaffinity(0)))] if pinned else []

        def once(side, kind=kind, processes=processes, pairs=pairs, opts=opts):
            r = bench.own(side, [program, kind, str(processes), str(pairs)], opts=opts)
            if kind in ("one", "alloc") and side.name == "glibc":
                f = bench.own(side, [program, "floor", str(processes), str(pairs)], opts=opts)
                r["floor"] = f["seconds"]
            return r
        with Neighbours(busy):
            got = bench.compare(name, once)
        stacks.keep(bench, name, got)
        base = got["glibc"]
        bad = isinstance(base, Failed)
        floor = [] if bad or kind not in ("one", "alloc") else [x["floor"] / x["seconds"] for x in base]
        cells = [name, "fails" if bad else num(processes * pairs / median([x["seconds"] for x in base]) / 1000, 1),
                 num(median(floor))]
        for n in others:
            failed = isinstance(got.get(n), Failed)
            cells += ["fails" if failed else num(median(ratios(got, m, n))) for m in ("seconds", "cpu")]
        out.append(cells)
    if "python3-threads" in wanted and shutil.which("python3", path=PATH):
        count = 400 if bench.args.quick else 4000
        argv = [shutil.which("python3", path=PATH), "-s", "-S", "-B", os.path.join(HERE, "real/threads.py"), str(count)]

        def python(side):
            return bench.own(side, argv)
        got = bench.compare("python3-threads", python)
        stacks.keep(bench, "python3-threads", got)
        base = got["glibc"]
        cells = ["python3-threads", "fails" if isinstance(base, Failed) else num(
            count / median([x["seconds"] for x in base]) / 1000, 1), "-"]
        for n in others:
            failed = isinstance(got.get(n), Failed)
            cells += ["fails" if failed else num(median(ratios(got, m, n))) for m in ("seconds", "cpu")]
        out.append(cells)
    elif "python3-threads" in wanted:
        say("# SKIP python3-threads: python3 is not installed")
    if out:
        say(f"## Creating and joining threads; time and CPU as ratios to glibc, median of {bench.args.rounds} pairs\n")
        head = ["program-processes", "glibc, k/s", "floor"]
        for n in others:
            head += [n, "CPU"]
        table(head, out, [f"# {len(sides)} sides. floor: the time of as many bare clones, as a ratio to glibc."])


def count_calls(bench, side, program, kind, pairs):
    """System calls of one run by name, all threads."""
    report = os.path.join(bench.tmp, "strace")
    cmd = ["strace", "-f", "-c", "-q", "-o", report]
    for e in side.environment():
        cmd += ["-E", e]
    p = subprocess.run(["timeout", "120"] + cmd + [program, kind, "1", str(pairs)], capture_output=True, check=False,
                       env=plain_env())
    if p.returncode:
        raise Failed(f"under strace: exit code {p.returncode}")
    with open(report, encoding="utf-8") as f:
        found = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", f.read(), re.M)
    count = {name: int(n) for n, name in found if name != "total"}
    # What strace -c folds away would make every difference zero.
    if sum(count.values()) < pairs:
        raise Failed("strace counted fewer calls than threads were made")
    return count


def calls(bench, program, kinds):
    if not kinds:
        return
    if not shutil.which("strace", path=PATH):
        say("# SKIP calls: strace is not installed")
        return
    out = []
    for kind in kinds:
        for side in bench.here():
            try:
                few, many = (count_calls(bench, side, program, kind, n) for n in CALLS)
            except Failed as e:
                bench.errors.append(f"calls-{kind}: {side.name}: {e}")
                continue
            per = {n: (many.get(n, 0) - few.get(n, 0)) / (CALLS[1] - CALLS[0]) for n in set(few) | set(many)}
            shown = sorted(((v, n) for n, v in per.items() if abs(v) >= 0.005), key=lambda x: (-x[0], x[1]))
            out.append([kind, side.name, num(sum(per.values())), ", ".join(f"{n} {v:.2f}" for v, n in shown)])
            bench.result["tables"].append({"row": f"calls-{kind}", "side": side.name, "per_pair": per})
    say("## System calls per thread, in steady state\n")
    table(["program", "side", "calls", "which"], out)
