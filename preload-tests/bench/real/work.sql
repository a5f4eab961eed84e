-- A database in memory: tables filled, indexed, joined, updated in place, thinned out and searched.
PRAGMA journal_mode = MEMORY;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, weight REAL, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO item SELECT i, 'item ' || (i * 7919 % 10007), i % 1000 / 7.0, hex(i * 2654435761) || substr('abcdefghijklmnopqrstuvwxyz', 1, i % 26) FROM n;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_weight ON item(weight, id);
CREATE TABLE sale(item INTEGER, day INTEGER, n INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
INSERT INTO sale SELECT i * 31 % 60000 + 1, i % 365, i % 11 FROM n;
CREATE INDEX by_item ON sale(item);
SELECT count(*), round(sum(weight), 3) FROM item;
SELECT day, sum(n * weight) > 0, count(DISTINCT item.name) FROM sale JOIN item ON item.id = sale.item GROUP BY day ORDER BY 3 DESC, 1 LIMIT 5;
UPDATE item SET note = note || ' / ' || name WHERE id % 3 = 0;
DELETE FROM item WHERE id % 5 = 2;
SELECT substr(name, 1, 6) AS p, count(*), max(length(note)), length(group_concat(note)) FROM item GROUP BY p ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*) FROM item a JOIN item b ON b.name = a.name AND b.id > a.id;
SELECT count(*) FROM item WHERE note LIKE '%F0%xyz%';
CREATE TABLE copy AS SELECT * FROM item ORDER BY note DESC;
SELECT id FROM copy LIMIT 3;
DROP TABLE item;
SELECT count(*), total(length(note)) FROM copy;
