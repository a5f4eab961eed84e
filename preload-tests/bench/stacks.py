"""scripts/bench stacks: what thread stacks cost in time and memory, locked and unlocked.

Sides are glibc, libfix and libfix with the settings given by --with; other allocators bring no
stacks of their own. A row that would lock more than --max-lock is left out and said so.
"""
import collections

from common import Bench, Failed, median, num, ratios, say, table

KIB, MIB = 1 << 10, 1 << 20
BUG_STACK, BUG_GUARD = 1134592, MIB

# outer, inner, locked
NEST = collections.OrderedDict([
    ("nest", (128, 256, 0)),
    ("nest-locked-small", (8, 64, 1)),
    ("nest-locked", (16, 256, 1)),
    ("nest-locked-full", (128, 256, 1)),
])
# kind, live, stack, guard, locked, touch, count
CREATE = collections.OrderedDict([
    ("create-1-8M", ("round", 1, 8 * MIB, 4096, 0, 0, 20000)),
    ("create-1-64K", ("round", 1, 64 * KIB, 4096, 0, 0, 20000)),
    ("create-100-8M", ("round", 100, 8 * MIB, 4096, 0, 0, 20000)),
    ("create-100-64K", ("round", 100, 64 * KIB, 4096, 0, 0, 20000)),
    ("create-1-1M-guard", ("round", 1, BUG_STACK, BUG_GUARD, 0, 0, 20000)),
    ("create-touch-256K", ("round", 1, 8 * MIB, 4096, 0, 256 * KIB, 10000)),
    ("batch-1-8M", ("batch", 1, 8 * MIB, 4096, 0, 0, 20000)),
    ("batch-1-64K", ("batch", 1, 64 * KIB, 4096, 0, 0, 20000)),
    ("create-locked-8M", ("round", 1, 8 * MIB, 4096, 1, 0, 2000)),
    ("create-locked-64K", ("round", 1, 64 * KIB, 4096, 1, 0, 10000)),
    ("create-locked-1M-guard", ("round", 1, BUG_STACK, BUG_GUARD, 1, 0, 2000)),
    ("batch-locked-8M", ("batch", 1, 8 * MIB, 4096, 1, 0, 640)),
])
# threads, stack (0: default), guard (0: default), locked, bytes of stack used
COST = collections.OrderedDict()
for _locked in (0, 1):
    for _n in (1, 8, 64, 512):
        for _guard in (0, MIB):
            COST[f"cost-{'locked-' if _locked else ''}{_n}{'-1M-guard' if _guard else ''}"] = (
                _n, 0, _guard, _locked, 0)
COST["cost-locked-512-64K"] = (512, 64 * KIB, MIB, 1, 0)
COST["faults-locked-8"] = (8, 8 * MIB, 0, 1, 7 * MIB)


def names():
    return list(NEST) + list(CREATE) + list(COST)


def sides_for(bench, name, locked_bytes):
    """The sides on which a locked row stays below the limit: on-fault ones lock what is touched."""
    ok, left = [], []
    for s in bench.here():
        lazy = any(e.startswith(("LIBFIX_STACK_LOCK=", "LIBFIX_LOCK=")) and not e.endswith("=full") for e in s.env)
        (ok if lazy or locked_bytes <= bench.args.max_lock * MIB else left).append(s)
    if left:
        say(f"# SKIP {name} on {', '.join(s.name for s in left)}: would lock about {locked_bytes // MIB} MiB, "
            f"--max-lock is {bench.args.max_lock}")
    return ok


def cell(got, side, metric, digits=2):
    v = got.get(side)
    if v is None:
        return "-"
    return "fails" if isinstance(v, Failed) else num(median([x[metric] for x in v]), digits)


def run(args):
    bench = Bench(args, peers=False, threads=True)
    try:
        wanted = args.only or names()
        scale = 10 if args.quick else 1
        nest(bench, [n for n in NEST if n in wanted], scale)
        create(bench, [n for n in CREATE if n in wanted], scale)
        cost(bench, [n for n in COST if n in wanted])
        return bench.finish()
    finally:
        bench.close()


def keep(bench, name, got):
    bench.result["tables"].append({"row": name, "samples": {
        s: str(v) if isinstance(v, Failed) else [
            {k: w for k, w in x.items() if isinstance(w, (int, float))} for x in v] for s, v in got.items()}})


def nest(bench, picked, scale):
    if not picked:
        return
    program, rows = bench.build("stacks/nest.c"), []
    for name in picked:
        outer, inner, locked = NEST[name]
        outer = max(outer // scale, 4)
        sides = sides_for(bench, name, locked * outer * inner * BUG_STACK)
        if not sides:
            continue
        argv = [program, str(outer), str(inner), str(BUG_STACK), str(BUG_GUARD), str(locked)]
        got = bench.compare(name, lambda side, a=argv: bench.own(side, a), sides=sides)
        keep(bench, name, got)
        for s in sides:
            rows.append([f"{name}, {outer}x{inner}", s.name, cell(got, s.name, "seconds"), cell(got, s.name, "cpu")] +
                        [num(median(ratios(got, m, s.name))) for m in ("seconds", "cpu")] +
                        ["fails" if isinstance(got[s.name], Failed) else
                         num(median([x["rss"] for x in got[s.name]]) / 1024, 0)])
    say(f"## Threads that create threads: stack {BUG_STACK}, guard {BUG_GUARD}\n")
    table(["program", "side", "wall, s", "CPU, s", "wall / glibc", "CPU / glibc", "peak RSS, MiB"], rows)


def create(bench, picked, scale):
    if not picked:
        return
    program, rows = bench.build("stacks/create.c"), []
    for name in picked:
        kind, live, stack, guard, locked, touch, count = CREATE[name]
        alive = live + (32 if kind == "batch" else 1)
        sides = sides_for(bench, name, locked * alive * stack)
        if not sides:
            continue
        argv = [program, kind] + [str(x) for x in (live, stack, guard, locked, touch, max(count // scale, 640))]
        got = bench.compare(name, lambda side, a=argv: bench.own(side, a), sides=sides)
        keep(bench, name, got)
        for s in sides:
            rows.append([name, s.name] + [cell(got, s.name, m, 1) for m in ("cold", "p50", "p99", "max")] +
                        [num(median(ratios(got, m, s.name))) for m in ("p50", "p99", "seconds", "cpu")])
    say("## Creating and joining one thread, microseconds (batch: 32 created, 32 joined, per thread)\n")
    table(["program", "side", "first", "p50", "p99", "max", "p50 / glibc", "p99 / glibc", "all / glibc",
           "CPU / glibc"], rows)


def cost(bench, picked):
    if not picked:
        return
    program, rows = bench.build("stacks/cost.c"), []
    for name in picked:
        n, stack, guard, locked, use = COST[name]
        sides = sides_for(bench, name, locked * n * (stack or 8 * MIB))
        if not sides:
            continue
        argv = [program] + [str(x) for x in (n, stack, guard, locked, use)]
        got = bench.compare(name, lambda side, a=argv: bench.own(side, a), sides=sides,
                            rounds=min(bench.args.rounds, 3))
        keep(bench, name, got)
        for s in sides:
            rows.append([name, s.name] + [cell(got, s.name, m, 0) for m in ("lck", "rss", "committed", "size")] +
                        [cell(got, s.name, "maps"), cell(got, s.name, "faults") if use else ""])
    say("## What one parked thread adds, kB\n")
    table(["program", "side", "VmLck", "VmRSS", "Committed_AS", "VmSize", "mappings", "faults"], rows,
          ["Committed_AS is the whole system's: other programs move it."])
