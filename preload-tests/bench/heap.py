"""scripts/bench heap: CPU time, wall time and peak RSS of the malloc family against glibc and peers.

Programs of our own for one habit of allocation each, real programs, and the smallest programs there
are, where start-up and the first pages count.
"""
import json
import os
import random
import shutil
import subprocess
import time

from common import (Bench, Failed, HERE, Missing, PATH, ended, escape, geomean, interval, last_line, median, num,
                    plain_env, ratios, say, svg, table)

__all__ = ["run", "names"]

# name: source and arguments
SYNTHETIC = {
    "pair-one": "pair one 1 60000000",
    "pair-many": "pair many 1 40000000",
    "pair-many-threads": "pair many 2 20000000",
    "burst-lifo": "burst lifo 1 100000 100",
    "burst-fifo": "burst fifo 1 100000 100",
    "burst-random": "burst random 1 50000 100",
    "burst-mixed-threads": "burst mixed 2 20000 200",
    "server": "server 2 2000 30 200000",
    "server-crowd": "server 8 1000 30 50000",
    "handover-one": "handover one 1 20000",
    "handover-mixed": "handover mixed 1 12000",
    "handover-ring": "handover ring 4 8000",
    "leftovers": "leftovers 4 300 4000",
    "sharing-passive": "sharing passive 4 2000000 50",
    "sharing-active": "sharing active 4 2000000 50",
    "phase-change": "phase 100000 12 200000",
    "large": "large 12 400",
    "grow-vector": "grow vector 12",
    "grow-append": "grow append 150",
    "grow-step": "grow step 2000",
    "aligned": "aligned 20000 3000000",
    "zeroed": "zeroed 5000 2000000",
    "arenas-idle": "idle 64 256 8000000",
    "medium": "medium 1000 1000000",
    "strings": "strings 100000 1000000",
    "trees": "trees 1 18 6000",
    "trees-threads": "trees 2 16 5000",
    "expressions": "expr 4000000 10",
    "waves": "waves 4 5000 200",
    "trace": "trace 1 10000000",
    "trace-threads": "trace 2 5000000",
}
REAL = ("python3", "python3-malloc", "sqlite3", "gcc", "redis", "git-repack", "node")
SMALL = {"true": ["/bin/true"], "ls": ["/bin/ls", "-l", "/usr"],
         "sh": ["/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); x=$x$i; done; echo ${#x}"]}
SLOWER = 1.03


def names():
    return list(SYNTHETIC) + list(REAL) + ["small-" + n for n in SMALL] + ["start-up"]


def need(program):
    path = shutil.which(program, path=PATH)
    if not path:
        raise Missing(f"{program} is not installed")
    return path


# Real programs. Each gives a function that runs it once on a side.

def python3(bench, malloc=False):
    argv = [need("python3"), "-s", "-S", "-B", os.path.join(HERE, "real/work.py")]
    env = ["PYTHONHASHSEED=0"] + (["PYTHONMALLOC=malloc"] if malloc else [])
    return lambda side: bench.once(side, argv, env=env)


def sqlite3(bench):
    argv, script = [need("sqlite3"), "-batch", ":memory:"], os.path.join(HERE, "real/work.sql")
    return lambda side: bench.once(side, argv, stdin=script)


def node(bench):
    argv = [need("node"), os.path.join(HERE, "real/work.js")]
    return lambda side: bench.once(side, argv)


def c_source(functions=160):
    """A C file of a few thousand lines, the same each time: structs, loops, switches, calls."""
    rng = random.Random(5)
    out = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "#include <math.h>",
           "#include <pthread.h>", "#include <sys/stat.h>"]
    for i in range(functions):
        n = rng.randint(3, 9)
        out.append(f"struct s{i} {{ int a[{n}]; double d; struct s{max(i - 1, 0)} *up; char name[{8 * n}]; }};")
        out.append(f"static int g{i}(struct s{i} *s, int k) {{")
        out.append(f"  int t = k * {rng.randint(3, 99)};")
        out.append(f"  for (int i = 0; i < {n}; i++) {{ s->a[i] += t ^ i; t += s->a[(i + k) % {n} & 7] >> 1; }}")
        out.append("  switch (t & 7) {")
        for c in range(rng.randint(3, 7)):
            out.append(f"    case {c}: s->d = s->d * {rng.random():.6f} + sqrt((double)(t + {c})); t -= {c * 3 + 1}; "
                       f"snprintf(s->name, sizeof s->name, \"v%d.{c}\", t); break;")
        out.append("    default: memset(s->name, 0, sizeof s->name); t = (int)strlen(s->name) + k;")
        out.append("  }")
        if i:
            out.append(f"  if (s->up) t += g{i - 1}(s->up, t & {rng.randint(7, 63)});")
        out.append("  return t;\n}")
    out.append(f"int main(void) {{ struct s{functions - 1} s; memset(&s, 0, sizeof s); "
               f"return g{functions - 1}(&s, 3); }}")
    return "\n".join(out) + "\n"


def gcc(bench):
    cc, source, ready = need("gcc"), os.path.join(bench.tmp, "made.c"), os.path.join(bench.tmp, "made.i")
    with open(source, "w", encoding="utf-8") as f:
        f.write(c_source())
    subprocess.run([cc, "-E", "-P", "-o", ready, source], check=True, env=plain_env())
    argv = [cc, "-O1", "-S", "-fpreprocessed", "-w", "-o", "-", ready]
    return lambda side: bench.once(side, argv)


def git_repack(bench):
    git, repo = need("git"), os.path.join(bench.tmp, "repo")
    env = plain_env()
    env.update(GIT_CONFIG_NOSYSTEM="1", HOME=bench.tmp)
    subprocess.run([git, "init", "-q", "--bare", repo], check=True, env=env)
    rng = random.Random(9)
    words = ["%x" % rng.getrandbits(24) for _ in range(3000)]
    stream, files = [], {}
    for c in range(400):
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1600000000 + c} +0000\ndata 2\nc\n")
        for _ in range(6):
            name = f"d{rng.randrange(12)}/f{rng.randrange(30)}"
            lines = files.setdefault(name, [" ".join(rng.choices(words, k=9)) for _ in range(120)])
            for _ in range(8):
                lines[rng.randrange(len(lines))] = " ".join(rng.choices(words, k=9))
            text = "\n".join(lines)
            stream.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
    subprocess.run([git, "-C", repo, "fast-import", "--quiet"], input="".join(stream).encode(), check=True, env=env)
    argv = [git, "-C", repo, "-c", "pack.threads=2", "-c", "pack.window=30", "repack", "-a", "-d", "-f", "-q"]
    more = ["GIT_CONFIG_NOSYSTEM=1", f"HOME={bench.tmp}"]

    def run(side):
        r = bench.once(side, argv, env=more)
        p = subprocess.run([git, "-C", repo, "rev-list", "--all", "--objects", "--count"], capture_output=True,
                           check=False, env=env)
        if p.returncode:
            raise Failed("the repository is broken after the repack: " + last_line(p.stderr))
        r["digest"] = p.stdout.decode()
        return r
    return run


def redis(bench):
    server, client, cli = need("redis-server"), need("redis-benchmark"), need("redis-cli")
    # Debian's server is linked with jemalloc: libc put in front of it makes glibc's own malloc serve.
    libc = subprocess.run(["sh", "-c", f"ldd {server} | awk '$1 == \"libc.so.6\" {{print $3}}'"], capture_output=True,
                          text=True, check=True, env=plain_env()).stdout.strip()
    if not libc:
        raise Missing("redis-server is not linked with libc.so.6")
    sock, report = os.path.join(bench.tmp, "redis.sock"), os.path.join(bench.tmp, "redis.report")
    load = [client, "-s", sock, "-q", "-c", "20", "-P", "16", "-n", "60000", "-r", "20000", "-d", "120",
            "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100"]

    def run(side):
        cmd = [bench.measure, "-o", report, "-t", "120"]
        for pair in side.environment(libc):
            cmd += ["-e", pair]
        cmd += [server, "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no", "--daemonize", "no",
                "--dir", bench.tmp, "--loglevel", "warning"]
        with subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=plain_env()) as p:
            def ask(*words):
                return subprocess.run([cli, "-s", sock, *words], capture_output=True, text=True, check=False,
                                      env=plain_env(), timeout=60)
            end = time.monotonic() + 20
            while ask("ping").stdout.strip() != "PONG":
                if time.monotonic() > end or p.poll() is not None:
                    p.kill()
                    raise Failed("the server does not answer: " + last_line(p.stdout.read()))
                time.sleep(0.02)
            t0 = time.monotonic()
            try:
                c = subprocess.run(load, capture_output=True, check=False, env=plain_env(), timeout=100)
                wall = time.monotonic() - t0
                keys = ask("dbsize").stdout.strip()
            except subprocess.TimeoutExpired as e:
                raise Failed("too slow") from e
            finally:
                subprocess.run([cli, "-s", sock, "shutdown", "nosave"], capture_output=True, check=False,
                               env=plain_env(), timeout=60)
                p.wait(60)
        with open(report, encoding="utf-8") as f:
            r = json.load(f)
        if r["rc"] or c.returncode or not keys.isdigit() or int(keys) < 20000:
            raise Failed(f"server: {ended(r)}, client: {c.returncode}, keys: {keys}")
        r["wall"], r["cpu"], r["digest"] = wall, r["user"] + r["sys"], ""
        return r
    return run


MAKERS = {"python3": python3, "python3-malloc": lambda b: python3(b, True), "sqlite3": sqlite3, "gcc": gcc,
          "redis": redis, "git-repack": git_repack, "node": node}


def synthetic(bench, built, name):
    source, *args = SYNTHETIC[name].split()
    if source not in built:
        built[source] = bench.build(f"heap/{source}.c")
    return lambda side: bench.once(side, [built[source], *args])


def run(args):
    bench = Bench(args)
    try:
        return heap(bench, args)
    finally:
        bench.close()


def heap(bench, args):
    wanted = args.only or names()
    built, found = {}, {}
    for name in list(SYNTHETIC) + list(REAL):
        if name not in wanted:
            continue
        try:
            once = synthetic(bench, built, name) if name in SYNTHETIC else MAKERS[name](bench)
            found[name] = bench.compare(name, once)
        except Missing as e:
            say(f"# SKIP {name}: {e}")
    if found:
        report(bench, args, found)
    small(bench, args, wanted)
    return bench.finish()


def report(bench, args, found):
    others = [s.name for s in bench.sides if s.name != "glibc"]
    peers = [n for n in others if not n.startswith("libfix")]
    means = {}
    for metric, unit, title in (("cpu", "s", "CPU time (user + system)"), ("wall", "s", "Wall time"),
                                ("rss", "MiB", "Peak RSS")):
        rows, column, slower, behind = [], {n: {} for n in others}, [], []
        for name, got in found.items():
            base = got["glibc"]
            scale = 1024 if metric == "rss" else 1
            absolute = None if isinstance(base, Failed) else median([x[metric] for x in base]) / scale
            cells = [name, num(absolute)]
            for n in others:
                r = ratios(got, metric, n)
                column[n][name] = median(r)
                cells.append("fails" if isinstance(got.get(n), Failed) else num(median(r)))
                if n == "libfix" and metric != "rss":
                    span = interval(r)
                    cells.append(f"{span[0]:.2f}-{span[1]:.2f}" if span else "-")
                    if span and span[0] > SLOWER and len(r) >= 15:
                        slower.append(f"{name} ({span[0]:.2f}-{span[1]:.2f})")
            best = min((column[n][name], n) for n in peers if column[n][name]) if any(
                column[n][name] for n in peers) else None
            if best and column["libfix"][name] and column["libfix"][name] > 1.10 * best[0]:
                behind.append(f"{name} {column['libfix'][name]:.2f} against {best[1]}'s {best[0]:.2f}")
            rows.append(cells)
        # A mean over programs that some side could not run would flatter that side.
        common = [p for p in found if all(column[n][p] for n in others if any(column[n].values()))]
        means[metric] = {n: geomean([column[n][p] for p in common]) for n in others}
        last = [f"geometric mean of {len(common)}", ""]
        for n in others:
            last.append(num(means[metric][n], 3))
            if n == "libfix" and metric != "rss":
                last.append("")
        head = ["program", f"glibc, {unit}"]
        for n in others:
            head.append(n)
            if n == "libfix" and metric != "rss":
                head.append("95 %")
        say(f"## {title}, ratio to glibc, median of {args.rounds} pairs\n")
        notes = []
        if metric != "rss":
            notes.append(f"Slower than glibc (whole interval above {SLOWER}): " + (
                ", ".join(slower) or "none" if args.rounds >= 15 else
                f"not judged from {args.rounds} pairs, --rounds 15 does"))
        notes.append("More than 10 % behind the best peer: " + ("; ".join(behind) or "none"))
        table(head, rows + [last], notes)
        bench.result["tables"].append({"metric": metric, "ratios": column, "means": means[metric],
                                       "programs_in_mean": common, "slower": slower, "behind": behind})
    bench.result["samples"] = {p: {n: str(v) if isinstance(v, Failed) else [
        {k: x[k] for k in ("cpu", "wall", "rss", "minflt", "nvcsw", "nivcsw")} for x in v]
        for n, v in got.items()} for p, got in found.items()}
    if args.svg:
        cpu = bench.result["tables"][0]["ratios"]
        shown = [n for n in others if any(cpu[n].values())]
        groups = [("Geometric means", [(t, {n: means[m][n] for n in shown}) for m, t in (
            ("cpu", "CPU time"), ("wall", "wall time"), ("rss", "peak RSS"))]),
            ("CPU time by program", [(p, {n: cpu[n][p] for n in shown}) for p in found])]
        svg(args.svg, f"malloc family preloaded, ratio to glibc ({escape(bench.result['machine']['libc'])})",
            groups, shown)


def small(bench, args, wanted):
    """Memory and start-up of programs that hardly do anything: differences, not ratios."""
    picked = {n: v for n, v in SMALL.items() if "small-" + n in wanted}
    others = [s.name for s in bench.sides if s.name != "glibc"]
    rows = []
    for name, argv in picked.items():
        got = bench.compare("small-" + name, lambda side, argv=argv: bench.once(side, argv, opts=["-s"]), rounds=3)
        for metric, title in (("rssanon", "RssAnon"), ("vmhwm", "VmHWM"), ("vmpeak", "VmPeak")):
            def value(side, got=got, metric=metric):
                v = got.get(side)
                return None if v is None or isinstance(v, Failed) else median([x[metric] for x in v])
            cells = [f"{name}, {title}, kB", num(value("glibc"), 0)]
            for n in others:
                cells.append("-" if value(n) is None or value("glibc") is None else f"{value(n) - value('glibc'):+.0f}")
            rows.append(cells)
            bench.result.setdefault("small", {})[f"{name} {metric}"] = {n: value(n) for n in ["glibc"] + others}
    if "start-up" in wanted:
        times = 100
        got = bench.compare("start-up", lambda side: bench.once(side, ["/bin/true"], opts=["-n", str(times)]),
                            rounds=max(args.rounds, 5))
        for metric, title in (("wall", "wall"), ("cpu", "CPU")):
            def ms(side, metric=metric):
                v = got.get(side)
                return None if v is None or isinstance(v, Failed) else median([x[metric] for x in v]) / times * 1000
            base = ms("glibc")
            rows.append([f"start of true, {title}, ms", num(base)] + [
                "-" if ms(n) is None or base is None else f"{ms(n) - base:+.2f}" for n in others])
            bench.result.setdefault("small", {})[f"start-up {metric} ms"] = {n: ms(n) for n in ["glibc"] + others}
    if rows:
        say("## Small programs: what preloading adds\n")
        table(["program", "glibc"] + others, rows)
