import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pageOf, smallParquet } from '../../../../../test/factories/batch_exports/small_parquet.ts';
import type { Said } from '../../../../../test/factories/batch_exports/small_parquet.ts';
import { FileBoundError } from './parquet_bounds.ts';
import { readParquet } from './read_parquet.ts';

const columns = [{ name: 'text', type: 'text' } as const];
const read = (file: Buffer, memory_mb_max?: number) =>
  Array.fromAsync(readParquet(Readable.from([file]), columns, memory_mb_max));

test('the reader returns the rows that were written', async () => {
  const rows = Array.from({ length: 1_200 }, () => ['a']);
  assert.deepEqual(await read(smallParquet(pageOf(1_200), 1_200)), rows);
  const page = pageOf(1_200);
  const file = smallParquet(gzipSync(page), 1_200, { codec: 2, unpacked: page.length });
  assert.deepEqual(await read(file), rows);
});

const two_billion = 2 ** 31 - 1;
const beyond: [string, Said][] = [
  ['rows', { rows: two_billion, group_rows: two_billion, values: two_billion }],
  ['values', { values: two_billion }],
  ['an encoding', { encoding: 5 }],
  ['a kind of page', { page_type: 3 }],
  ['a page', { unpacked: two_billion }],
  ['a group', { chunk_bytes: 2 ** 40 }],
  ['a footer', { footer_bytes: two_billion }],
];
for (const [what, said] of beyond)
  test(`${what} that no export writes is refused before it is read`, async () => {
    const refused = await read(smallParquet(pageOf(10), 10, said)).catch((error: unknown) => error);
    assert.ok(refused instanceof FileBoundError, String(refused));
    assert.match(refused.message, /as no file of an export does: its values are not compared\.$/);
  });

test('a file larger than it says takes no memory', async () => {
  const bomb = smallParquet(gzipSync(Buffer.alloc(2 ** 26)), 10, { codec: 2, unpacked: 50 });
  await assert.rejects(read(bomb), /larger than 50 bytes/);
  const pairs = smallParquet(pageOf(10), 10, { empty_pairs: 5_000_000 });
  await assert.rejects(read(pairs, 64), /more than 64 MiB of memory, as no file of an export does/);
  // A run of a billion levels for ten rows.
  const run = smallParquet(pageOf(10, 2 ** 30), 10);
  await assert.rejects(read(run, 64), /more than 64 MiB of memory/);
  await assert.rejects(
    read(smallParquet(pageOf(10), 10, { chunk_bytes: 2 ** 20 })),
    /beyond its end/,
  );
});
