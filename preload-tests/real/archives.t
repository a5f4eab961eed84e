#!/bin/bash
# Packing: tar over the compressors, those with threads in threads.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

tree='mkdir -p t/a t/b; for i in $(seq 30); do seq $i $((i * 1500)) >t/a/f$i; done; cp -r t/a t/b/; ln -s ../a/f1 t/b/l
      find t -exec touch -h -d @1000000000 {} +; pack="tar --sort=name --owner=0 --group=0 --numeric-owner"; '

same -p "tar xz" "tar packs with xz -T2 and unpacks" bash -c "$tree"'
    $pack -I "xz -T2 -1 --block-size=256KiB" -cf t.tar.xz t && md5sum t.tar.xz; xz -l t.tar.xz | wc -l; mkdir u; tar -I "xz -T2" -xf t.tar.xz -C u && diff -r t u/t && echo same; tar -tvf t.tar.xz | tail -2'
same -p xz "xz packs in four threads, byte for byte the same" bash -c '
    seq 250000 >f; xz -T4 -1 -k f && md5sum f.xz; xz -dc -T2 f.xz | cmp - f && echo back; xz -T2 -c --block-size=64KiB -0 f | md5sum; xz -t f.xz && echo sound; head -c 1000 f.xz >g.xz; xz -t g.xz 2>/dev/null; echo $?'
same -p "gzip bzip2" "gzip and bzip2 pack and unpack" bash -c "$tree"'
    for c in gzip bzip2; do $pack -cf - t/a | $c -c >x; md5sum x; $c -dc x | tar -tf - | wc -l; done; gzip -nk t/a/f9; zcat t/a/f9.gz | md5sum; zgrep -c 777 t/a/f9.gz'
same -p zstd "zstd packs in two threads and trains a dictionary" bash -c "$tree"'
    $pack -cf t.tar t; zstd -q -T2 -B64K -5 t.tar -o t.zst && md5sum t.zst; zstd -qdc t.zst | cmp - t.tar && echo back; zstd -q --ultra -20 --long=20 -T2 -c t.tar | wc -c; zstd -q --train t/a/* -o d --maxdict=4096 2>/dev/null; echo $?; zstd -q -D d -c t/a/f5 | zstd -qdc -D d | cmp - t/a/f5 && echo same'
same -p tar "tar appends, updates, compares and restores" bash -c "$tree"'
    $pack -cf t.tar t/a; $pack -rf t.tar t/b; tar -tf t.tar | wc -l; tar -df t.tar && echo equal; echo x >>t/a/f1; tar -df t.tar 2>&1 | sort; tar --delete -f t.tar t/a/f2; tar -tf t.tar | grep -c f2; tar -g snap -cf i1.tar t; touch t/new; tar -g snap -cf i2.tar t; tar -tf i2.tar | grep new'
finish
