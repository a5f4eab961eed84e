// Workers: results by message, shared memory, transferred buffers that one
// thread made and another drops, terminated ones, and nested ones.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

if (isMainThread) {
    const start = d => new Worker(__filename, { workerData: d });
    const end = w => new Promise(r => w.on('exit', r));
    const first = w => new Promise((r, j) => { w.on('message', r); w.on('error', j); });
    (async () => {
        const shared = new Int32Array(new SharedArrayBuffer(4));
        const added = [1, 2, 3, 4].map(() => start({ job: 'add', shared }));
        await Promise.all(added.map(end));
        console.log('added', shared[0]);
        for (let r = 0; r < 3; r++) {
            const w = [...Array(4).keys()].map(i => start({ job: 'fill', n: (i + 1) * 100000 }));
            const b = await Promise.all(w.map(first));
            console.log('filled', b.map(x => x.length).join(), b.every((x, i) => x[x.length - 1] === 7));
        }
        const idle = [1, 2, 3].map(() => start({ job: 'spin' }));
        await new Promise(r => setTimeout(r, 100));
        console.log('terminated', (await Promise.all(idle.map(w => w.terminate()))).length);
        console.log('nested', await first(start({ job: 'nest' })));
        const bad = start({ job: 'throw' });
        console.log('thrown', await new Promise(r => bad.on('error', e => r(e.message))));
    })();
} else if (workerData.job === 'add') {
    for (let i = 0; i < 10000; i++) Atomics.add(workerData.shared, 0, 1);
} else if (workerData.job === 'fill') {
    const b = new Uint8Array(workerData.n).fill(7);
    parentPort.postMessage(b, [b.buffer]);
} else if (workerData.job === 'spin') {
    for (;;) Buffer.alloc(10000);
} else if (workerData.job === 'nest') {
    new Worker(__filename, { workerData: { job: 'fill', n: 5000 } })
        .on('message', b => parentPort.postMessage(b.length));
} else {
    throw new Error('on purpose');
}
