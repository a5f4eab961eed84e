"""scripts/bench flag: what it costs to set have_fastchunks with an atomic OR instead of a plain store.

The library is built twice, as it is and with the feature atomic-flag, and the two run side by side.
That the second one really has more locked instructions is read from its code first: two equal
builds would give a ratio of 1 and prove nothing.
"""
import os
import re
import shutil
import subprocess

import heap
from common import Bench, Failed, Missing, Side, TOP, geomean, interval, median, num, ratios, say, table

ROWS = {
    "pair-one": "pair one 1 60000000",
    "pair-one-threads": f"pair one {os.cpu_count()} 30000000",
    "pair-many": "pair many 1 40000000",
    "pair-many-threads": f"pair many {os.cpu_count()} 20000000",
    "burst-random": "burst random 1 50000 200",
    "burst-mixed-threads": f"burst mixed {os.cpu_count()} 20000 800",
    "trace": "trace 1 15000000",
    "trace-threads": "trace 2 8000000",
}
REAL = ("python3", "python3-malloc")
OLD, NEW = "libfix atomic OR", "libfix relaxed"


def names():
    return list(ROWS) + list(REAL)


def cargo(features):
    """Builds the library in a folder of its own and gives its path."""
    tool = shutil.which("cargo")
    if not tool:
        raise Missing("cargo is not installed: both builds of the library are made here")
    target = os.path.join(TOP, "target", "bench-flag", "-".join(features) or "default")
    cmd = [tool, "build", "--release", "--quiet", "--target-dir", target]
    if features:
        cmd += ["--features", ",".join(features)]
    p = subprocess.run(cmd, cwd=TOP, capture_output=True, text=True, check=False)
    if p.returncode:
        raise Missing(f"{' '.join(cmd[1:])} failed:\n{p.stderr[-2000:]}")
    return os.path.join(target, "release", "libfix.so")


def locked(lib):
    """How many instructions with a lock prefix, and exchanges with memory, which lock by themselves."""
    if not shutil.which("objdump"):
        raise Missing("objdump is not installed")
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", lib], capture_output=True, text=True,
                          check=True).stdout
    return len(re.findall(r"\tlock |\txchg +[^\n]*\(|\tldset|\tldadd|\tstl?xr", text))


def run(args):
    new = cargo(())
    old = cargo(("atomic-flag",))
    counts = locked(new), locked(old)
    args.lib = new
    bench = Bench(args, peers=False)
    try:
        if counts[1] <= counts[0]:
            bench.errors.append(f"the atomic-flag build has {counts[1]} locked instructions, the plain one "
                                f"{counts[0]}: they do not differ as they should")
        copy = os.path.join(bench.tmp, "libfix-atomic.so")
        shutil.copy(old, copy)
        bench.sides[1].name = NEW
        bench.sides.append(Side(OLD, copy))
        return compare(bench, args, counts)
    finally:
        bench.close()


def compare(bench, args, counts):
    rows, gains, built = [], [], {}
    wanted = args.only or names()
    for name in names():
        if name not in wanted:
            continue
        if name in ROWS:
            source, *rest = ROWS[name].split()
            if source not in built:
                built[source] = bench.build(f"heap/{source}.c")

            def once(side, argv=(built[source], *rest)):
                return bench.once(side, argv)
        else:
            try:
                once = heap.MAKERS[name](bench)
            except Missing as e:
                say(f"# SKIP {name}: {e}")
                continue
        got = bench.compare(name, once)
        cells = [name]
        for side in ("glibc", NEW, OLD):
            v = got[side]
            cells.append("fails" if isinstance(v, Failed) else num(median([x["cpu"] for x in v]), 3))
        r = ratios(got, "cpu", NEW, OLD)
        w = ratios(got, "wall", NEW, OLD)
        span = interval(r)
        cells += [num(median(r), 3), f"{span[0]:.3f}-{span[1]:.3f}" if span else "-", num(median(w), 3)]
        gains.append(median(r))
        rows.append(cells)
        bench.result["tables"].append({"program": name, "cpu": r, "wall": w})
    say(f"## have_fastchunks: relaxed store against atomic OR, CPU seconds, median of {args.rounds} pairs\n")
    table(["program", "glibc", "relaxed", "atomic OR", "relaxed / atomic", "95 %", "wall"],
          rows + [["geometric mean", "", "", "", num(geomean(gains), 3), "", ""]],
          [f"Locked instructions in the library: {counts[0]} relaxed, {counts[1]} with the OR. "
           "Below 1 the relaxed store is faster."])
    bench.result["locked_instructions"] = {"relaxed": counts[0], "atomic": counts[1]}
    return bench.finish()
