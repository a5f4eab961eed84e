// What a node program asks the C heap for: buffers of all sizes, compression, text encodings, JSON
// and maps, in fixed amounts. Prints a digest that must not depend on the allocator.
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');
const sum = crypto.createHash('sha256');

let seed = 12345;
const next = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return Math.floor(seed / 4294967296 * n); };

const live = new Array(2000);
for (let i = 0; i < 60000; i++) {
  const b = Buffer.alloc(64 << next(9), i & 255);
  b.writeUInt32LE(i, 0);
  const k = next(live.length);
  if (live[k]) sum.update(live[k].subarray(0, 8));
  live[k] = b;
}
for (let i = 0; i < 60; i++) {
  const text = JSON.stringify(Array.from({ length: 400 }, () => ({ id: next(1000), name: 'n' + next(99999) })));
  const packed = zlib.deflateSync(text, { level: 3 });
  const back = zlib.inflateSync(packed).toString();
  if (back !== text) throw new Error('round trip');
  sum.update(crypto.createHash('md5').update(packed).digest());
}
const names = new Map();
for (let i = 0; i < 100000; i++) {
  const key = 'key' + next(20000);
  names.set(key, (names.get(key) || 0) + 1);
}
sum.update(String(names.size));
console.log(sum.digest('hex'));
