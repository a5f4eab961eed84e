#!/bin/bash
# node: a pool of threads for files and ciphers, worker threads each with an
# engine of its own, and large buffers outside the engine's heap.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require node

same "node starts workers and passes buffers between them" node "$programs/workers.js"
same "node zips, hashes and reads in its pool of threads" node -e '
    const z = require("zlib"), c = require("crypto"), fs = require("fs"), { promisify: p } = require("util");
    (async () => {
        const data = Buffer.from([...Array(50000).keys()].join());
        const r = await Promise.all([...Array(12).keys()].map(async i => { const g = await p(z.gzip)(data.subarray(i)); return (await p(z.gunzip)(g)).length }));
        console.log(r.reduce((a, b) => a + b)); const k = await Promise.all([...Array(6).keys()].map(i => p(c.scrypt)("pw", "salt" + i, 32, { N: 1024 }))); console.log(c.createHash("sha256").update(Buffer.concat(k)).digest("hex"));
        await Promise.all([...Array(40).keys()].map(i => fs.promises.writeFile("f" + i, data.subarray(0, i * 1000)))); console.log((await Promise.all([...Array(40).keys()].map(i => fs.promises.readFile("f" + i)))).reduce((a, b) => a + b.length, 0)); console.log((await z.brotliDecompressSync(z.brotliCompressSync(data.subarray(0, 50000)))).length);
    })()'
same "node starts processes" node -e '
    const { execFile, spawn, fork } = require("child_process"); let n = 0, done = 0;
    for (let i = 0; i < 20; i++) execFile("seq", [String(i * 100)], (e, out) => { n += out.length; if (++done == 20) console.log(n) });
    const w = spawn("wc", ["-c"]); w.stdout.on("data", d => process.on("exit", () => console.log("wc", String(d).trim()))); for (let i = 0; i < 30; i++) w.stdin.write("x".repeat(10000)); w.stdin.end();'
same "node fills arrays, maps, strings and buffers" node -e '
    const m = new Map(); for (let i = 0; i < 200000; i++) m.set("k" + i % 50021, { i, s: "v".repeat(i % 20) }); console.log(m.size);
    let b = []; for (let r = 0; r < 30; r++) { for (let i = 0; i < 20; i++) b.push(Buffer.alloc(i * 50000, r)); if (r % 3 == 0) b = b.slice(-10) } console.log(b.length, b.reduce((a, x) => a + x.length, 0));
    console.log(JSON.parse(JSON.stringify([...m].slice(0, 20000))).length, [...m.keys()].sort().at(-1), (2n ** 20000n).toString().length, "ab".repeat(100000).replace(/a(b)/g, "<$1>").length);
    const w = new WebAssembly.Memory({ initial: 1 }); w.grow(100); console.log(w.buffer.byteLength)'
same "node serves and fetches in one process" node -e '
    const h = require("http"); const s = h.createServer((q, r) => q.pipe(r)).listen(0, "127.0.0.1", () => { let n = 0, d = 0;
    for (let i = 0; i < 60; i++) { const q = h.request({ port: s.address().port, host: "127.0.0.1", method: "POST" }, r => r.on("data", x => n += x.length).on("end", () => { if (++d == 60) { console.log(n); s.close() } })); q.end("y".repeat(i * 1000)) } })'
same -x 1 -e -q "node throws" node -e 'throw new Error("on purpose")'
same -x 5 -q "node exits with workers running" node -e 'const { Worker } = require("worker_threads"); for (let i = 0; i < 3; i++) new Worker("setInterval(() => Buffer.alloc(1e5), 1)", { eval: true }); setTimeout(() => process.exit(5), 300)'
finish
