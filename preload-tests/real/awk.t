#!/bin/bash
# awk, both of Debian's: tables, strings that grow, sorting, pipes.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"

for awk in mawk gawk; do
    same "$awk fills and empties tables" "$awk" 'BEGIN {
        for (i = 0; i < 200000; i++) t["k" i % 50021] += i; n = 0; for (k in t) n++; print n, t["k77"]
        for (i = 0; i < 50000; i += 2) delete t["k" i]; n = 0; for (k in t) n += length(k); print n
        for (i = 0; i < 300; i++) for (j = 0; j < 100; j++) m[i, j] = i * j; print m[299, 99]; for (r = 0; r < 50; r++) { delete x; for (i = 0; i < 1000; i++) x[i] = i "" } print x[999] }'
    same "$awk grows, splits and replaces text" "$awk" 'BEGIN {
        for (i = 0; i < 20000; i++) s = s "ab" i % 10; print length(s); print gsub(/b[0-4]/, "<&>", s), length(s); n = split(s, p, ">"); print n, p[100]
        print toupper(substr(s, 10, 20)), index(s, "b9"), match(s, /b9a<b0/), sprintf("%08.3f|%-10s|%c", 3.14159, "x", 65)
        for (l = "x"; length(l) < 3000000; l = l l); print length(l) }'
    same "$awk reads files and talks to pipes" bash -c '
        seq 30000 | sed "s/.*/& x& y/" >f
        "$1" "{ a[\$1 % 10] += \$1; l += length(\$0); \$2 = \"z\"; o[NR % 7] = \$0 } END { for (i = 0; i < 10; i++) print a[i]; print NR, l; for (i = 0; i < 7; i++) print o[i] }" f
        "$1" "{ print \$1 | \"sort -rn | head -3\" } END { close(\"sort -rn | head -3\"); while ((\"seq 2000\" | getline x) > 0) s += x; print s; while ((getline y < \"f\") > 0) n++; print n; system(\"echo sub\") }" f
        "$1" -F, -v OFS=: "BEGIN { RS = \"\" } { \$1 = \$1; print NF } END { exit 3 }" <<<"a,b,c"; echo $?' - "$awk"
    case $awk in mawk) code=2 ;; *) code=1 ;; esac
    same -x $code -q "$awk names a mistake" "$awk" 'BEGIN { print 1 +* }'
done
same "gawk sorts and computes" gawk 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
    BEGIN { print f(20); for (i = 0; i < 30000; i++) a[i] = (i * 7919) % 30011; n = asort(a, b); print n, b[1], b[n]; PROCINFO["sorted_in"] = "@val_num_desc"; c = 0; for (k in a) { if (c++ == 3) break; print k, a[k] } print strftime("%F", 0, 1), gensub(/(a)(b)/, "\\2\\1", "g", "abab") }'
finish
