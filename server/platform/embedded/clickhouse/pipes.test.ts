import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openPipes } from './pipes.ts';

const { signal } = new AbortController();

test('returned pipes are never lost nor given out twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pipes-'));
  const pipes = await openPipes(join(folder, 'pipes'), 4);
  try {
    const seen: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const taken = await Promise.all(
        Array.from({ length: (round % 4) + 1 }, () => pipes.take(signal)),
      );
      for (const pipe of taken) {
        assert.ok((await stat(pipe)).isFIFO());
        pipes.give(pipe, false);
      }
      seen.push(...taken);
    }
    assert.equal(new Set(seen).size, seen.length);
    const all = await Promise.all(Array.from({ length: 4 }, () => pipes.take(signal)));
    assert.deepEqual([new Set(all).size, pipes.busy()], [4, 4]);
    const fifth = pipes.take(signal);
    pipes.give(all[0]!, true);
    assert.equal(await fifth, all[0]);
  } finally {
    await pipes.close();
    assert.deepEqual(await readdir(folder), []);
    await rm(folder, { recursive: true });
  }
});

test('waiters get a pipe as soon as one can be created again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pipes-'));
  const place = join(folder, 'pipes');
  const pipes = await openPipes(place, 2);
  try {
    const [one, other] = [await pipes.take(signal), await pipes.take(signal)];
    await rm(place, { recursive: true });
    pipes.give(one, false);
    pipes.give(other, false);
    const left = new AbortController();
    const waiting = pipes.take(left.signal);
    const staying = pipes.take(signal);
    setTimeout(() => left.abort(), 200);
    await assert.rejects(waiting);
    await mkdir(place);
    assert.ok((await stat(await staying)).isFIFO());
    assert.ok((await stat(await pipes.take(signal))).isFIFO());
  } finally {
    await pipes.close();
    await rm(folder, { recursive: true });
  }
});
