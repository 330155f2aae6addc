import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

// In a thread, which has a heap of its own: that of this process has grown long ago. A size is
// taken many times and the middle one counts: a collection of the whole heap, which can happen at
// any of them, makes the generation larger or smaller for a while.
const program = `
  const { getHeapSpaceStatistics } = require('node:v8');
  const { parentPort, workerData } = require('node:worker_threads');
  const size = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  const kept = [];
  const allocate = () => {
    const sizes = [];
    for (let index = 0; index < 400_000; index += 1) {
      kept.push({ text: String(index) });
      if (index % 10_000 === 0) sizes.push(size());
    }
    return sizes.toSorted((one, other) => one - other)[sizes.length / 2];
  };
  import(workerData).then(async ({ withSmallYoungHeap }) => {
    const before = size();
    const meanwhile = await withSmallYoungHeap(async () => allocate());
    // It grows in steps, at collections that find much alive.
    let afterwards = 0;
    for (let tries = 0; tries < 5 && afterwards <= 2 * meanwhile; tries += 1)
      afterwards = allocate();
    parentPort.postMessage({ before, meanwhile, afterwards });
  });
`;

test('the young generation stays small during the work, and grows after it', async () => {
  const module = new URL('young_heap.ts', import.meta.url).href;
  const worker = new Worker(program, { eval: true, workerData: module });
  const [{ before, meanwhile, afterwards }] = (await once(worker, 'message')) as [
    { before: number; meanwhile: number; afterwards: number },
  ];
  await worker.terminate();
  // A collection of the whole heap can add growth that stays for long.
  assert.ok(meanwhile <= 2 * Math.max(before, 4 * 2 ** 20), `${before}, ${meanwhile}`);
  assert.ok(afterwards > 2 * meanwhile, `${meanwhile}, then ${afterwards}`);
});
