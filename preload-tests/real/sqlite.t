#!/bin/bash
# SQLite's shell: pages, indexes, sorter threads, full text, and a full check.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require sqlite3

same "sqlite fills, indexes, vacuums and checks a database" sqlite3 d.db '
    create table t(a integer, b text);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000) insert into t select x, hex(x * 7919 % 60013) from c;
    create index i on t(b); create index j on t(a, b); delete from t where a % 3 = 0; vacuum;
    select count(*), sum(a), min(b), max(b) from t; select a from t order by b desc, a limit 3; analyze; pragma integrity_check;'
same "sqlite sorts in threads" sqlite3 d.db '
    pragma threads = 4; pragma cache_size = 50; pragma temp_store = file;
    create table t as with recursive c(x) as (select 1 union all select x + 1 from c where x < 150000) select x, x * 7919 % 150001 y, printf("%040d", x) z from c;
    create index k on t(y, z); select group_concat(x) from (select x from t order by z desc, y limit 10); pragma integrity_check;'
same "sqlite logs ahead, rolls back and joins" sqlite3 d.db '
    pragma journal_mode = wal; create table a(x primary key, y); create table b(x, z);
    begin; with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) insert into a select x, x % 100 from c; insert into b select x * 2, y from a; commit;
    begin; delete from a; rollback; select count(*), sum(z) from a join b using (x); select y, count(*) from a group by y having y < 5;
    savepoint s; update a set y = randomblob(500); rollback to s; release s; pragma wal_checkpoint(truncate); select sum(length(y)) from a; pragma integrity_check;'
same "sqlite searches text, takes JSON apart and dumps" bash -c '
    sqlite3 d.db "create virtual table f using fts5(x); with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) insert into f select printf(\"word%d and word%d\", x % 97, x % 89) from c;
        select count(*) from f where f match \"word5 and word7\"; select json_extract(value, \"\$.b[1]\") from json_each(\"[{\"\"b\"\":[1,2]},{\"\"b\"\":[3,4]}]\"); select count(*) from json_tree((select json_group_array(x) from f));"
    sqlite3 d.db .dump | md5sum; sqlite3 d.db .dump | sqlite3 e.db; sqlite3 e.db "select count(*) from f" "pragma integrity_check"
    seq 20000 | sed "s/.*/&,x&/" >c.csv; sqlite3 e.db "create table c(a, b)" ".mode csv" ".import c.csv c" "select count(*), max(b) from c"'
same -x 1 -q "sqlite names an error" sqlite3 :memory: 'select * from nowhere'
finish
