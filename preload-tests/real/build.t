#!/bin/bash
# Building: gcc and g++ give the same bytes, make runs two jobs, the linker
# links, and rustc, which brings its own allocator and many threads, compiles.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
rustc=$(command -v rustc)
rust_home=${RUSTUP_HOME:-$HOME/.rustup}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
. "$(dirname "$0")/real.sh"

# A tree of twenty sources, a generated header, a library and a program.
cat >"$work/tree" <<'E'
mkdir -p src
for i in $(seq 20); do
    {
        echo '#include <stdio.h>'; echo '#include <stdlib.h>'; echo '#include <string.h>'; echo '#include "all.h"'
        for j in $(seq 30); do
            echo "struct s$j { int a[$j]; const char *n; }; static int g$j(struct s$j *s, int x) { for (int k = 0; k < $j; k++) s->a[k] = x * k; return s->a[$((j - 1))] + (int)strlen(s->n = \"name$j\"); }"
        done
        echo "int f$i(int x) { int r = x;"
        for j in $(seq 30); do echo "  { struct s$j s; r += g$j(&s, r % 17); }"; done
        echo "  char *p = malloc(64); snprintf(p, 64, \"%d\", r); r += atoi(p); free(p); return r & 0xffff; }"
    } >src/f$i.c
done
cat >Makefile <<'M'
CFLAGS = -O2 -Wall -Isrc
NUMBERS = $(shell seq 20)
OBJS = $(NUMBERS:%=src/f%.o)
prog: src/main.o libf.a
	$(CC) -o $@ src/main.o -L. -lf
libf.a: $(OBJS)
	$(AR) rcD $@ $(OBJS)
src/all.h:
	for i in $(NUMBERS); do echo "int f$$i(int);"; done >$@
src/main.c:
	{ echo '#include "all.h"'; echo '#include <stdio.h>'; echo 'int main(void) { int r = 1;'; \
	for i in $(NUMBERS); do echo "r = f$$i(r);"; done; echo 'printf("%d", r); putchar(10); return r == 0; }'; } >$@
$(OBJS) src/main.o: src/all.h
clean:
	rm -f src/*.o src/all.h src/main.c libf.a prog
M
E
same -p "make gcc" "make -j2 builds a tree, byte for byte the same" bash -ec '. "$1"
    make -s -j2; ./prog; md5sum src/*.o libf.a prog; make -q; echo up to date; touch src/f3.c; make -n | wc -l; make -s clean; ls src | wc -l' - "$work/tree"
same -p gcc "gcc compiles, links and runs" bash -c '
    echo "int main(void) { return 7; }" >a.c; gcc -O2 -pipe a.c -o a; ./a; echo $?; gcc -O3 -g -flto -frandom-seed=1 -c a.c -o a.o && md5sum a.o
    gcc -E -dM - </dev/null | sort | md5sum; gcc -S -O2 a.c -o - | grep -c ret; objdump -d a | grep -c main; nm a | grep -c " T "; strip a && readelf -S a | wc -l; gcc -O2 -shared -fPIC a.c -o a.so && readelf -d a.so | wc -l'
same -p gcc -x 1 "gcc names errors" bash -c 'echo "int main(void) { int x = y; retrun 0; }" >a.c; gcc a.c -o a 2>&1 | sed 1,1p; gcc a.c -o a 2>/dev/null'
same -p g++ "g++ compiles templates and the program runs" bash -c '
    cat >a.cc <<E
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>
thread_local std::string mine;
int main() {
    std::map<std::string, std::vector<std::shared_ptr<int>>> m;
    for (int i = 0; i < 20000; i++) m[std::to_string(i % 997)].push_back(std::make_shared<int>(i));
    long n = 0; for (auto &e : m) for (auto &p : e.second) n += *p;
    std::vector<std::thread> t; std::vector<std::string> out(8);
    for (int i = 0; i < 8; i++) t.emplace_back([&, i] { for (int k = 0; k < 1000; k++) mine += char(97 + i); out[i] = mine; });
    for (auto &x : t) x.join();
    std::regex r("(a+)(b+)"); std::cout << n << out[7].size() << out[3][0] << std::regex_match("aaabb", r);
    try { throw std::runtime_error("thrown"); } catch (std::exception &e) { std::cout << e.what() << "\n"; }
    void *p = operator new(100, std::align_val_t(256)); std::cout << (reinterpret_cast<unsigned long>(p) % 256) << "\n"; operator delete(p, std::align_val_t(256));
}
E
    g++ -std=c++17 -O1 -pthread -c a.cc && md5sum a.o && g++ -pthread a.o -o a && ./a'
same -p gcc "a program of OpenMP's threads computes in stacks of its own size" bash -ec '
    cat >a.c <<E
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static long deep(long n) { volatile char room[4096]; room[0] = n; return n ? deep(n - 1) + room[0] - (char)n + 1 : 0; }
int main(void) {
    long sum = 0;
    for (int round = 0; round < 50; round++) {
        omp_set_num_threads(1 + round % 6);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
        for (int i = 0; i < 200; i++) { int *p = malloc(sizeof *p * (i + 1)); p[i] = i; sum += p[i]; free(p); }
    }
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task
        {
#pragma omp atomic
            sum += deep(2000);
        }
    }
    printf("%ld\n", sum);
}
E
    gcc -O1 -fopenmp a.c -o a; OMP_STACKSIZE=16M ./a; OMP_STACKSIZE=64M OMP_PROC_BIND=true ./a; OMP_DYNAMIC=true GOMP_SPINCOUNT=0 OMP_STACKSIZE=12M ./a'
if [ -n "$rustc" ]; then
    # rustup's proxy finds the toolchain through its own two folders.
    clean+=(RUSTUP_HOME="$rust_home" CARGO_HOME="$cargo_home")
    same -t 120 "rustc compiles with its threads and the program runs" bash -c '
        cat >a.rs <<E
use std::{collections::HashMap, sync::mpsc, thread};
fn main() {
    let (tx, rx) = mpsc::channel::<Vec<String>>();
    let hs: Vec<_> = (0..8).map(|i| { let tx = tx.clone(); thread::Builder::new().stack_size(64 << 10).spawn(move || for j in 0..200 { tx.send(vec![format!("{i}-{j}"); 20]).unwrap() }).unwrap() }).collect();
    drop(tx);
    let mut m: HashMap<String, usize> = HashMap::new();
    for v in rx { for s in v { *m.entry(s).or_default() += 1 } }
    for h in hs { h.join().unwrap() }
    println!("{} {}", m.len(), m.values().sum::<usize>());
    println!("{}", thread::spawn(|| if true { panic!("on purpose") }).join().is_err());
}
E
        "$1" -O -C codegen-units=4 a.rs -o a && ./a 2>&1 | sed "s/([0-9]*)//"' - "$rustc"
else
    skip "rustc compiles with its threads and the program runs" "rustc is not installed"
fi
finish
