"""What every benchmark shares: the sides compared, how programs are built, run and compared.

A side is one way to start a program: bare glibc, libfix, a peer, or libfix with a setting. Programs
run interleaved, the order rotated each round, because the machine drifts; ratios are taken within
one round and the median of them is reported, never a ratio of two medians.
"""
import hashlib
import json
import math
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
# Debian's own programs before whatever a developer put in front of them.
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
CFLAGS = ["-O2", "-g1", "-Wall", "-Wextra", "-pthread"] + ["-fno-builtin-" + f for f in (
    "malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc")]
PEERS = (("jemalloc", "libjemalloc.so.2"), ("mimalloc", "libmimalloc.so.2.0"),
         ("tcmalloc", "libtcmalloc_minimal.so.4"))


class Failed(Exception):
    """A program that did not do what it should; the text says how."""


class Missing(Exception):
    """Something this machine does not have; the text says what."""


def say(text=""):
    print(text, flush=True)


def progress(text):
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


class Side:
    def __init__(self, name, preload=None, env=(), missing=None):
        self.name, self.preload, self.env, self.missing = name, preload, list(env), missing

    def environment(self, base=None):
        """NAME=VALUE pairs of this side; base stands in for no preload (see heap's redis)."""
        preload = self.preload or base
        return ([f"LD_PRELOAD={preload}"] if preload else []) + self.env


def find_library(soname):
    """The loader's own list first, then the usual folders."""
    try:
        table = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False,
                               env={"PATH": PATH}).stdout
    except OSError:
        table = ""
    machine = {"x86_64": "x86-64", "aarch64": "AArch64"}.get(platform.machine(), "")
    for line in table.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name.split(" ")[0] == soname and machine in name and os.path.exists(path):
            return path
    for folder in (f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib"):
        if os.path.exists(os.path.join(folder, soname)):
            return os.path.join(folder, soname)
    return None


class Bench:
    """One run of scripts/bench: its temporary folder, its sides, what it found."""

    def __init__(self, args, peers=True, threads=False, rounds=7):
        self.args = args
        args.rounds = args.rounds or rounds
        self.tmp = tempfile.mkdtemp(prefix="libfix-bench.")
        os.chmod(self.tmp, 0o755)
        self.errors = []
        self.result = {"benchmark": args.what, "machine": machine(), "rounds": args.rounds, "tables": []}
        if not shutil.which("gcc", path=PATH):
            raise Missing("gcc is not installed")
        self.measure = self.build("measure.c", static=True)
        self.sides = self.find_sides(peers, threads)
        self.result["sides"] = [{"name": s.name, "preload": s.preload and os.path.basename(s.preload),
                                 "env": s.env, "missing": s.missing} for s in self.sides]

    def close(self):
        shutil.rmtree(self.tmp, ignore_errors=True)

    def build(self, source, static=False, name=None, flags=()):
        """Compiles one C file of this folder; a program that does not compile ends the run."""
        out = os.path.join(self.tmp, name or os.path.splitext(os.path.basename(source))[0])
        cmd = ["gcc", *CFLAGS, *flags, *(["-static"] if static else []), "-o", out, os.path.join(HERE, source), "-lm"]
        p = subprocess.run(cmd, capture_output=True, text=True, check=False, env={"PATH": PATH})
        if p.returncode:
            sys.exit(f"bench: {source} does not compile:\n{p.stderr}")
        return out

    def find_sides(self, peers, threads):
        lib = os.path.abspath(self.args.lib)
        sides = [Side("glibc")]
        if os.path.exists(lib):
            # A copy that everybody may read, and that a build going on meanwhile does not replace.
            copy = os.path.join(self.tmp, "libfix.so")
            shutil.copy(lib, copy)
            os.chmod(copy, 0o755)
            sides.append(Side("libfix", copy))
            sides += [Side(f"libfix {w}", copy, w.split(",")) for w in self.args.with_]
        else:
            sides.append(Side("libfix", missing=f"no {self.args.lib}: build the library or give --lib"))
        for n, also in enumerate(self.args.also):
            name, _, path = also.partition("=")
            if not os.path.exists(path):
                sides.append(Side(name, missing=f"no {path}"))
                continue
            copy = os.path.join(self.tmp, f"also{n}.so")
            shutil.copy(path, copy)
            os.chmod(copy, 0o755)
            sides.append(Side(name, copy))
        for name, soname in PEERS if peers else ():
            path = find_library(soname)
            sides.append(Side(name, path, missing=None if path else f"{soname} is not installed"))
        probe = self.build("probe.c", flags=["-ldl"])
        for s in sides:
            if s.missing or not s.preload:
                continue
            r, out, err = self.start(s, [probe])
            seen = out.decode().split()
            same = [os.path.realpath(p) == os.path.realpath(s.preload) for p in seen]
            if r["rc"] or len(same) != 3:
                s.missing = f"a program preloaded with it ends with {ended(r)} {last_line(err)}"
            elif not (same[0] and same[1]):
                s.missing = f"preloading it does not replace malloc ({last_line(err) or seen[0]})"
            elif threads and not same[2]:
                s.missing = "it has no pthread_create of its own"
        self.errors += [f"{s.name}: {s.missing}" for s in sides if s.missing and s.name.startswith("libfix")]
        return sides

    def here(self):
        return [s for s in self.sides if not s.missing]

    def start(self, side, argv, env=(), cwd=None, stdin=None, timeout=120, base=None, opts=()):
        """Runs one program under the launcher. Returns its report, its output and its errors."""
        report = os.path.join(self.tmp, "report")
        cmd = [self.measure, "-o", report, "-t", str(timeout), *opts]
        for pair in (*side.environment(base), *env):
            cmd += ["-e", pair]
        with open(stdin or os.devnull, "rb") as f:
            p = subprocess.run(cmd + list(argv), stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                               check=False, env=plain_env())
        if p.returncode:
            raise Failed(f"the launcher failed: {last_line(p.stderr)}")
        with open(report, encoding="utf-8") as f:
            return json.load(f), p.stdout, p.stderr

    def once(self, side, argv, **more):
        """As start, but anything other than a clean end is a failure; adds cpu and a digest."""
        r, out, err = self.start(side, argv, **more)
        if r["rc"] or r["late"]:
            raise Failed(f"{ended(r)} {last_line(err)}".strip())
        r["cpu"] = r["user"] + r["sys"]
        r["digest"] = hashlib.sha256(out).hexdigest()
        r["err"] = err
        return r

    def own(self, side, argv, **more):
        """As once, for programs that measure themselves and end with one JSON line on stderr."""
        r = self.once(side, argv, **more)
        try:
            r.update(json.loads(r.pop("err").decode().strip().splitlines()[-1]))
        except (ValueError, IndexError) as e:
            raise Failed("it reports nothing") from e
        return r

    def compare(self, label, run, sides=None, rounds=None):
        """Runs run(side) on each side in turn. Gives {side name: [sample per round] or Failed}."""
        sides = sides or self.here()
        got = {s.name: [] for s in sides}
        for k in range(rounds or self.args.rounds):
            for s in sides[k % len(sides):] + sides[:k % len(sides)]:
                if isinstance(got[s.name], Failed):
                    continue
                progress(f"{label}: round {k + 1}, {s.name}")
                try:
                    got[s.name].append(run(s))
                except Failed as e:
                    got[s.name] = e
        progress("")
        # Outputs must not depend on the side.
        base = got.get("glibc")
        if base and not isinstance(base, Failed):
            for name, samples in got.items():
                if not isinstance(samples, Failed) and any(
                        x.get("digest") != base[0].get("digest") for x in samples):
                    got[name] = Failed("its output differs from glibc's")
        for name, samples in got.items():
            if isinstance(samples, Failed):
                say(f"# {label}: {name}: {samples}")
                if name == "glibc" or name.startswith("libfix"):
                    self.errors.append(f"{label}: {name}: {samples}")
        return got

    def finish(self):
        for s in self.sides:
            if s.missing and not s.name.startswith("libfix"):
                say(f"# {s.name} is a column of dashes: {s.missing}")
        self.result["errors"] = self.errors
        if self.args.json:
            with open(self.args.json, "w", encoding="utf-8") as f:
                json.dump(self.result, f, indent=1, default=str)
                f.write("\n")
        for e in self.errors:
            say(f"# FAILED {e}")
        return 1 if self.errors else 0


def plain_env():
    """The caller's environment without what would change the programs measured."""
    drop = ("LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_", "GLIBC_TUNABLES", "LIBFIX_", "MIMALLOC_", "TCMALLOC_",
            "PYTHON", "NODE_", "GIT_", "TMPDIR")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env.update(PATH=PATH, LC_ALL="C")
    return env


def machine():
    return {"time": time.strftime("%Y-%m-%d %H:%M:%S"), "kernel": platform.release(), "cpus": os.cpu_count(),
            "libc": " ".join(platform.libc_ver()), "arch": platform.machine(),
            "load": [round(x, 2) for x in os.getloadavg()]}


def ended(r):
    if r["late"]:
        return "too slow, killed"
    return f"signal {r['signal']}" if r["signal"] else f"exit code {r['rc']}"


def last_line(data):
    lines = data.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


# Numbers

def ratios(got, metric, side, base="glibc"):
    """The ratios of one side to another, one per round; nothing if either failed."""
    a, b = got.get(side), got.get(base)
    if a is None or b is None or isinstance(a, Failed) or isinstance(b, Failed):
        return []
    return [x[metric] / y[metric] for x, y in zip(a, b) if y[metric] > 0 and x[metric] > 0]


def median(values):
    return statistics.median(values) if values else None


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def interval(values, times=4000):
    """The 95 % bootstrap interval of the median; the same values give the same interval."""
    if len(values) < 3:
        return None
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(times))
    return medians[int(times * 0.025)], medians[int(times * 0.975) - 1]


def num(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(head, rows, notes=()):
    """A Markdown table that also reads well in a terminal: first column left, others right."""
    rows = [[str(c) for c in r] for r in rows]
    width = [max(len(r[i]) for r in [head] + rows) for i in range(len(head))]

    def line(cells):
        return "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                 for i, (c, w) in enumerate(zip(cells, width))) + " |"
    say(line(head))
    say("|" + "|".join(("-" * (w + 1) + ("-" if i == 0 else ":")) for i, w in enumerate(width)) + "|")
    for r in rows:
        say(line(r))
    for n in notes:
        say(n)
    say()


# The picture

COLOURS = {"libfix": "#b03030", "jemalloc": "#4a7ab5", "mimalloc": "#5a9a5a", "tcmalloc": "#b58a3a"}


def svg(path, title, groups, names, cap=2.0):
    """Horizontal bars of ratios to glibc, a line at 1. groups: [(heading, [(label, {name: ratio})])]."""
    bar, gap, left, scale, top = 9, 8, 190, 260, 58
    spare = ["#7a5aa0", "#30a0a0", "#888888"]
    colour = {n: COLOURS.get(n) or spare[i % 3] for i, n in enumerate(names)}
    out, y = [], top
    for heading, rows in groups:
        y += 14
        out.append(f'<text x="8" y="{y}" font-weight="bold">{escape(heading)}</text>')
        y += 8
        for label, values in rows:
            height = bar * len(names)
            out.append(f'<text x="{left - 8}" y="{y + height / 2 + 4:.0f}" text-anchor="end">{escape(label)}</text>')
            for i, n in enumerate(names):
                v = values.get(n)
                if v is None:
                    continue
                length = min(v, cap) * scale
                out.append(f'<rect x="{left}" y="{y + i * bar}" width="{length:.1f}" height="{bar - 1}" '
                           f'fill="{colour[n]}"/>')
                out.append(f'<text x="{left + length + 4:.1f}" y="{y + i * bar + 8}" font-size="9">'
                           f'{v:.2f}{" (cut)" if v > cap else ""}</text>')
            y += height + gap
    height = y + 16
    wide = left + cap * scale + 70
    key = "".join(f'<rect x="{left + i * 110}" y="34" width="10" height="10" fill="{colour[n]}"/>'
                  f'<text x="{left + i * 110 + 14}" y="43">{escape(n)}</text>' for i, n in enumerate(names))
    one = left + scale
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{height:.0f}" '
                f'viewBox="0 0 {wide:.0f} {height:.0f}" font-family="sans-serif" font-size="12">\n'
                f'<rect width="100%" height="100%" fill="white"/>\n'
                f'<text x="8" y="20" font-size="15">{escape(title)}</text>\n{key}\n'
                + "\n".join(out) +
                f'\n<line x1="{one}" y1="{top - 6}" x2="{one}" y2="{height - 14}" stroke="#333" '
                f'stroke-dasharray="3 3"/>\n<text x="{one}" y="{height - 3}" text-anchor="middle" '
                f'font-size="10">1.00 = glibc, shorter is better</text>\n</svg>\n')


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
