#!/bin/bash
# The small tools of every script: coreutils, findutils, sed, grep, diffutils, bc.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

# A small tree whose every name, size and time is known.
tree='mkdir -p t/a/b t/c; for i in 1 2 3 4 5; do seq $((i * 100)) >t/a/f$i; seq $i >t/a/b/g$i; done
      ln -s a/f1 t/link; ln t/a/f2 t/c/hard; chmod 640 t/a/f3; find t -exec touch -h -d @1000000000 {} +; '

same "ls lists a tree" bash -c "$tree"'ls -lRn --time-style=+%s t | sed "/^total/d"; ls -1U t | sort; ls -m t'
same -x 2 -q "ls names what is missing" ls -l /nonexistent/1 /nonexistent/2
same "cp, mv, ln, rm and stat keep a tree" bash -c "$tree"'
    cp -a t u && mv u v && rm -r v/c && stat -c "%n %a %s %h %Y %F" v/a v/a/f3 v/link
    install -m 755 -D v/a/f1 w/x/y; stat -c %a w/x/y; truncate -s 5K big; stat -c %s big
    dd if=big of=big2 bs=1000 count=3 status=none; wc -c <big2; mkdir -m 700 z; stat -c %a z; rmdir z; du -a --apparent-size -b v/a/b | sort'
same "find and xargs walk a tree" bash -c "$tree"'
    find t -type f -name "f*" -size -2k -printf "%p %s\n" | sort
    find t -type f -print0 | sort -z | xargs -0 -n 3 wc -l
    seq 200 | xargs -P 4 -n 5 sh -c "echo \$(( \$1 + \$5 ))" x | sort -n | md5sum'
same "sort sorts in four threads and merges from files" bash -c '
    seq 100000 | shuf --random-source=<(yes) >u; sort -n --parallel=4 -S 1M u | md5sum
    sort --parallel=4 u | md5sum; sort -R --random-source=<(yes) u | md5sum; seq 200000 | md5sum
    sort -n -u --parallel=2 u u | wc -l; sort -k1.3 -s -r u | head -3; split -n l/4 u p.; for i in p.*; do sort -n $i -o $i; done; sort -m -n p.* | sort -nc && echo sorted'
same "the text tools agree" bash -c '
    seq 50 >n; paste n <(tac n) | head -20 | tail -5 >p; cat p; cut -f2 p | tr 0-9 a-j; nl n | tail -2
    seq 1 2 40 | sort >o; join <(sort n) o | wc -l; comm -12 <(sort n) o | paste -sd,; uniq -c <(seq 30 | cut -c1 | sort)
    fold -w 7 <<<abcdefghijklmnopqrstuvwxyz; fmt -w 20 <<<"the quick brown fox jumps over the lazy dog"; pr -3 -t -l 10 n | head -4
    expand -t 4 <<<"a	b" | unexpand -a; od -An -tx1 <<<hello; printf "%05d|%-6s|%x\n" 42 ab 255; wc n p
    split -l 10 n s.; cat s.* | cmp - n && ls s.* | wc -l; csplit -s n 20 40; wc -l xx0*; ptx -w 40 p | head -5; tsort <<<"a b b c d b"'
same "the sums agree" bash -c '
    seq 100000 >f; md5sum f; sha1sum f; sha256sum f; sha512sum f; b2sum f; cksum f; sum f
    base64 f | md5sum; base64 f | base64 -d | cmp - f && echo back; base32 f | sha1sum; sha256sum f >l; sha256sum -c l'
same "the number tools agree" bash -c '
    seq 1 100000 | factor | md5sum; factor 1234567890123456789; numfmt --to=iec 123456789; expr 6 \* 7
    shuf -i 1-1000 -n 5 --random-source=<(yes); date -u -d @1234567890 +%FT%T; date -d "2024-02-28 + 2 days" +%F; seq -s, 0 .25 2'
same -p bc "bc computes a thousand digits" bash -c 'echo "scale=1000; 4*a(1)" | BC_LINE_LENGTH=0 bc -l | md5sum'
same "grep and sed search and replace" bash -c '
    seq 20000 >f; grep -c 7 f; grep -E "^(12)+3$" f; grep -P "^(\d)\1{3}$" f | tail -1; grep -vn "[0-8]" f | tail -2; grep -rl 19999 . ; grep -o -w -m3 "1.9" f | paste -sd,
    sed -n "1~4000p" f; sed -E "s/([0-9])([0-9]+)/\2\1/g; 5q" f; sed -i.bak "/9/d" f; wc -l f f.bak; sed ":a;N;\$!ba;s/\n/,/g" f | wc -c'
same -p patch "diff and patch meet" bash -c '
    seq 2000 >a; seq 2000 | sed "s/^1\(.\)5$/x\1/; 77d; 900a new" >b; diff -u --label a --label b a b >p; echo $?; wc -l p
    cp a c; patch -s c p && cmp b c && echo patched; diff3 a b c | wc -l; sdiff -s a b | wc -l; cmp a b || echo differ'
same "tee, timeout, env, nice and stdbuf start others" bash -c '
    seq 1000 | tee x y | wc -l; cmp x y && echo equal; timeout 5 echo in time; timeout .2 sleep 5; echo $?
    env -i A=b /usr/bin/env; nice -n 3 nice; (echo a; sleep .1; echo b) | stdbuf -oL tr a-z A-Z; nohup echo kept 2>/dev/null
    yes | head -n 100000 | wc -c; mktemp -u XXXX.y | wc -c; id -u; basename /a/b.c .c; dirname /a/b; realpath -m /a/../b; uname -s'
same -x 143 -q "sleep dies of a signal" bash -c 'sleep 9 & kill -TERM $!; wait $!'
same "a text of one long line passes through all" bash -c '
    head -c 3000000 /dev/zero | tr "\0" x >l; rev l | wc -c; sort l | wc -c; sed s/x/yy/g l | wc -c; cut -c 5-2000000 l | wc -c; grep -c "x\{100\}" l; wc -L l; awk "{print length}" l'
finish
