#!/bin/bash
# The facts about ordinary tools: each runs bare and preloaded and gives its known answer.
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/lib.sh"

export HOME=$build/scratch GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
cd "$HOME" || exit 1
# The system's own interpreters, not what a user put before them.
PATH=/usr/bin:/bin:/usr/sbin:/sbin

# pre COMMAND...: with the library in the preloaded round; sub-processes inherit it
pre() {
  if [ "$mode" = preloaded ]; then
    timeout -k 1 30 env LD_PRELOAD="$preload" "$@"
  else
    timeout -k 1 30 "$@"
  fi
}

# want NAME PROGRAM ANSWER FUNCTION: bare and preloaded
want() {
  local name=$1 program=$2 answer=$3 got mode
  if ! command -v "$program" >/dev/null; then
    say_skip "$name" "$program is not installed"
    return
  fi
  for mode in bare preloaded; do
    got=$("$4" 2>&1)
    if [ "$got" = "$answer" ]; then
      say_ok "$name, $mode"
    else
      say_bad "$name, $mode"
      printf 'want: %s\ngot: %s\n' "$answer" "${got:0:2000}" | diag
    fi
  done
}

bash_jobs() {
  pre bash -c 'x=$(for i in 1 2 3; do (echo $i | cat) & done; wait); echo $x | tr " " "\n" | sort | tr -d "\n"'
}
want "bash runs jobs in subshells" bash 123 bash_jobs

dash_descriptors() {
  pre sh -c 'exec 3>f; echo hi >&3; exec 3>&-; read a <f; echo $a; ulimit -n 64; sh -c "echo in"'
}
want "sh moves descriptors about" sh $'hi\nin' dash_descriptors

python_processes() {
  pre python3 -c '
import multiprocessing as m, threading as t, subprocess as s
def f(x): return x*x
if __name__ == "__main__":
    stop = []
    th = [t.Thread(target=lambda: [bytearray(1000) for _ in iter(lambda: len(stop), 1)]) for _ in range(2)]
    [x.start() for x in th]
    m.set_start_method("fork")
    with m.Pool(3) as p: r = sum(p.map(f, range(200)))
    o = s.run(["echo", "sub"], capture_output=True, text=True).stdout.strip()
    stop.append(1); [x.join() for x in th]
    t.stack_size(65536); q = []
    y = t.Thread(target=lambda: q.append(1)); y.start(); y.join()
    print(r, o, q[0])'
}
want "python forks a pool amid threads" python3 "2646700 sub 1" python_processes

python_lock() {
  pre python3 -c '
import ctypes, threading
l = ctypes.CDLL(None, use_errno=True); r = l.mlockall(3); n = []
ts = [threading.Thread(target=lambda: n.append(1)) for _ in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(r, len(n))'
}
has_lock_capability() { sed -n 's/^CapEff:\t//p' /proc/self/status | grep -qiE '^[0-9a-f]{12}[4-7c-f]'; }
if has_lock_capability; then
  want "python locks itself and starts threads" python3 "0 8" python_lock
else
  say_skip "python locks itself and starts threads" "needs CAP_IPC_LOCK"
fi

python_foreign() {
  pre python3 -c '
import ctypes
own, libc = ctypes.CDLL(None), ctypes.CDLL("libc.so.6")
for l in own, libc:
    for f in "malloc", "strdup": getattr(l, f).restype = ctypes.c_void_p
    l.realloc.restype = ctypes.c_void_p
    l.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    l.free.argtypes = l.malloc_usable_size.argtypes = [ctypes.c_void_p]
    l.malloc_usable_size.restype = ctypes.c_size_t
n = 0
for size in 10, 1000, 50000, 3000000:
    for i in range(100):
        p = libc.malloc(size); ctypes.memset(p, 7, size)
        assert own.malloc_usable_size(p) >= size
        p = own.realloc(p, size * 2)
        assert ctypes.string_at(p, size) == b"\7" * size
        own.free(p)
        own.free(libc.strdup(b"text")); own.free(libc.malloc(size)); n += 1
print(n)'
}
want "python frees blocks of libc's own heap through ctypes" python3 400 python_foreign

perl_forks() {
  pre perl -e 'my @p; for my $i (1..5) { my $k = fork; if (!$k) { my $s = "x" x ($i*100000); exit length($s)/100000 } push @p, $k }
    my $t = 0; for (@p) { waitpid $_, 0; $t += $? >> 8 } print $t, `echo " q"`'
}
want "perl forks and collects" perl "15 q" perl_forks

git_history() {
  rm -rf r
  pre bash -c 'set -e; git init -q r; cd r; git config user.email a@example.org; git config user.name n
    for i in 1 2 3 4 5; do seq $((i*500)) >f$i; git add .; git commit -qm c$i; done
    git gc -q; git fsck --no-progress; git log --oneline | wc -l'
}
want "git commits, packs and checks" git 5 git_history

sqlite_table() {
  rm -f d.db
  pre sqlite3 d.db 'create table t(a); with recursive c(x) as (select 1 union all select x+1 from c where x<20000)
    insert into t select x from c; create index i on t(a); vacuum; select sum(a) from t; pragma integrity_check'
}
want "sqlite fills a table" sqlite3 $'200010000\nok' sqlite_table

gcc_program() {
  echo 'int main(void) { return 7; }' >a.c
  rm -f a
  pre gcc -O2 -pipe a.c -o a
  ./a
  echo $?
}
want "gcc compiles a program" gcc 7 gcc_program

node_workers() {
  pre node -e 'const {Worker} = require("worker_threads"); let n = 0;
    for (let i = 0; i < 3; i++)
      new Worker("require(\"worker_threads\").parentPort.postMessage(Buffer.alloc(1e6).length)", {eval: true})
        .on("message", m => { n += m; if (n == 3e6) console.log(n) })'
}
want "node runs workers" node 3000000 node_workers

tmux_session() {
  pre tmux -S "$HOME/s-$mode" -f /dev/null new-session -d 'sleep 5' \; display-message -p '#{session_windows}'
  pre tmux -S "$HOME/s-$mode" kill-server
}
want "tmux starts a server" tmux 1 tmux_session

sort_threads() {
  pre bash -c 'seq 200000 | sort -R | sort -n --parallel=4 -S 1M | tail -n 1'
}
want "sort uses threads" sort 200000 sort_threads

xz_threads() {
  pre bash -c 'seq 300000 | xz -T4 -1 | xz -dc -T2 | md5sum'
}
want "xz uses threads" xz "$(seq 300000 | md5sum)" xz_threads

setpriv_id() { pre setpriv --reuid 65534 --regid 65534 --clear-groups id -u; }
if [ "$(id -u)" = 0 ]; then
  want "setpriv changes identity" setpriv 65534 setpriv_id
else
  say_skip "setpriv changes identity" "needs root"
fi
finish
