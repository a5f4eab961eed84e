"""scripts/bench latency and memlock: allocators in locked processes, by time and by what they lock.

latency runs as root with SCHED_FIFO where allowed. The least limit is searched as an ordinary user
without rights, since only then RLIMIT_MEMLOCK binds; a root without CAP_SYS_RESOURCE cannot raise the
limit above its own, and a row that needs more says so.
"""
import os
import re
import resource
import shutil
import subprocess

import stacks
from common import Bench, Failed, Missing, PATH, median, num, plain_env, ratios, say, table

KIB, MIB = 1 << 10, 1 << 20
POINTS = ("p50", "p99", "p99.9", "p99.99", "max")
LATENCY = {"alone": ("alone", 20_000_000, 100_000), "handed": ("handed", 10_000_000, 50_000)}
NOBODY = 65534
STEP, TOP = 64 * KIB, 16 << 30
# threads, stack, live KiB per thread
LEAST = {f"least-{n}-{'8M' if stack == 8 * MIB else '128K'}": (n, stack, 256)
         for n in (0, 1, 4, 64) for stack in (8 * MIB, 128 * KIB)}
HELD = {"held-1-1M": (1, 128 * KIB, 1024), "held-8-1M": (8, 128 * KIB, 1024), "held-64-1M": (64, 128 * KIB, 1024),
        "held-16-8K": (16, 128 * KIB, 8)}


def latency_names():
    return list(LATENCY) + ["calls"]


def latency(args):
    if os.geteuid() != 0:
        raise Missing("latency locks 450 MiB and more: run it as root")
    bench = Bench(args, rounds=3)
    try:
        wanted = args.only or latency_names()
        program = bench.build("locked/latency.c")
        for name in LATENCY:
            if name in wanted:
                percentiles(bench, program, name)
        if "calls" in wanted:
            calls(bench, program)
        return bench.finish()
    finally:
        bench.close()


def percentiles(bench, program, name):
    kind, ops, live = LATENCY[name]
    ops //= 10 if bench.args.quick else 1
    # A guard for the machine: an allocator that reserves more than this under lock fails its row.
    opts = ["-a", str((bench.args.max_lock + 1024) * MIB)]
    got = bench.compare(name, lambda side: bench.own(side, [program, kind, str(ops), str(live)], opts=opts,
                                                     timeout=180))
    stacks.keep(bench, "latency-" + name, got)
    rows, fifo = [], None
    for what in ("malloc", "free"):
        for s in bench.sides:
            v = got.get(s.name)
            cells = [what, s.name]
            if v is None or isinstance(v, Failed):
                rows.append(cells + ["-" if v is None else "fails"] * 8)
                continue
            fifo = v[0]["fifo"]
            cells += [num(median([x[f"{what} {p}"] for x in v]), 0) for p in POINTS]
            cells += [num(median(ratios(got, f"{what} p99.9", s.name))),
                      num(median([x["faults"] for x in v]), 0), num(median([x["rss"] for x in v]) / 1024, 0)]
            rows.append(cells)
    say(f"## Latency under lock, {name}: {ops} operations per thread on {live} live blocks each, ns "
        f"({'SCHED_FIFO' if fifo else 'not real-time: SCHED_FIFO is not allowed here'})\n")
    table(["call", "side", *POINTS, "p99.9 / glibc", "faults", "peak RSS, MiB"], rows,
          ["A timer reading (about 10 ns) is part of every value."])


def calls(bench, program):
    """System calls between the two marks of a quiet run."""
    if not shutil.which("strace", path=PATH):
        say("# SKIP calls: strace is not installed")
        return
    rows, log = [], os.path.join(bench.tmp, "strace.log")
    for s in bench.here():
        cmd = ["timeout", "120", "strace", "-f", "-q", "-o", log]
        for e in s.environment():
            cmd += ["-E", e]
        p = subprocess.run(cmd + [program, "quiet", "1000000", "20000"], capture_output=True, check=False,
                           env=plain_env())
        with open(log, encoding="utf-8") as f:
            parts = re.split(r"^.*getppid\(\).*\n", f.read(), flags=re.M)
        if p.returncode or len(parts) != 3:
            bench.errors.append(f"calls: {s.name}: exit code {p.returncode}, {len(parts) - 1} marks under strace")
            continue
        seen = re.findall(r"^\d+ +(\w+)\(", parts[1], re.M)
        rows.append([s.name, len(seen), ", ".join(f"{n} {seen.count(n)}" for n in sorted(set(seen)))])
        bench.result["tables"].append({"row": "latency-calls", "side": s.name, "calls": len(seen)})
    say("## System calls in 1,000,000 operations after the warm-up, locked\n")
    table(["side", "calls", "which"], rows)


def memlock_names():
    return list(LEAST) + list(HELD)


def memlock(args):
    if os.geteuid() != 0:
        raise Missing("memlock sets limits and becomes another user: run it as root")
    bench = Bench(args, rounds=3)
    try:
        wanted = args.only or memlock_names()
        program = bench.build("locked/hold.c")
        least(bench, program, [n for n in LEAST if n in wanted])
        held(bench, program, [n for n in HELD if n in wanted])
        return bench.finish()
    finally:
        bench.close()


def highest_limit():
    """What RLIMIT_MEMLOCK this process may set for a child, at most TOP."""
    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if hard == resource.RLIM_INFINITY or hard >= TOP:
        return TOP
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (TOP, TOP))
    except (ValueError, OSError):
        return hard
    return TOP


def enough(bench, side, argv, limit, times=1):
    for _ in range(times):
        r, _, _ = bench.start(side, argv, opts=["-u", str(NOBODY), "-l", str(limit)], timeout=60)
        if r["rc"] not in (0, 1) and not r["signal"]:
            raise Failed(f"exit code {r['rc']}")
        if r["rc"] or r["signal"] or r["late"]:
            return False
    return True


def find_least(bench, side, argv, top):
    """The least limit, in steps of 64 KiB, under which the program ends well three times in a row."""
    high = min(MIB, top)
    while not enough(bench, side, argv, high):
        if high >= top:
            return None
        high = min(high * 2, top)
    low = high // 2 if high > MIB else 0
    while high - low > STEP:
        middle = (low + high) // 2 // STEP * STEP
        if middle <= low:
            break
        if enough(bench, side, argv, middle):
            high = middle
        else:
            low = middle
    # Threads race for the last pages, so the border is not sharp.
    while not enough(bench, side, argv, high, 3):
        high += STEP
        if high > top:
            return None
    return high


def least(bench, program, picked):
    if not picked:
        return
    rows, top = [], highest_limit()
    if top < TOP:
        say(f"# RLIMIT_MEMLOCK cannot be raised above {top / MIB:.0f} MiB here (no CAP_SYS_RESOURCE): what needs more "
            f"shows as > {top / MIB:.0f}")
    for name in picked:
        n, stack, live = LEAST[name]
        argv = [program, str(n), str(stack), str(live)]
        need = n * stack + (n + 1) * live * KIB
        cells = [f"{n} threads, stack {stack // KIB} KiB", num(need / MIB, 1)]
        found = {}
        for s in bench.sides:
            if s.missing:
                cells.append("-")
                continue
            try:
                found[s.name] = find_least(bench, s, argv, top)
                cells.append(f"> {top / MIB:.0f}" if found[s.name] is None else num(found[s.name] / MIB, 1))
            except Failed as e:
                cells.append("fails")
                say(f"# {name}: {s.name}: {e}")
                if s.name == "glibc" or s.name.startswith("libfix"):
                    bench.errors.append(f"{name}: {s.name}: {e}")
        rows.append(cells)
        bench.result["tables"].append({"row": name, "needed": need, "least": found})
    say("## Least RLIMIT_MEMLOCK of an ordinary user, MiB; 256 KiB live in each thread and in main\n")
    table(["program", "stacks + live"] + [s.name for s in bench.sides], rows)


def held(bench, program, picked):
    if not picked:
        return
    rows = []
    for name in picked:
        n, stack, live = HELD[name]
        argv = [program, str(n), str(stack), str(live)]
        got = bench.compare(name, lambda side, a=argv: bench.own(side, a), rounds=3)
        stacks.keep(bench, name, got)
        for s in bench.sides:
            v = got.get(s.name)
            if v is None or isinstance(v, Failed):
                rows.append([f"{n} threads, {live} KiB", s.name] + ["-" if v is None else "fails"] * 5)
                continue
            lck, rss, size = (median([x[k] for x in v]) for k in ("lck", "rss", "size"))
            rows.append([f"{n} threads, {live} KiB", s.name, num(lck / 1024, 1), num(rss / 1024, 1),
                         num((lck - rss) / 1024, 1), num(rss / 1024 - n * stack / MIB, 1), num(size / 1024, 0)])
    say("## What a locked program holds, MiB (stacks of 128 KiB)\n")
    table(["program", "side", "VmLck", "VmRSS", "VmLck - VmRSS", "VmRSS - stacks", "VmSize"], rows)
