import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readParquet } from '../../formats/parquet/read_parquet.ts';
import { apply, emptyState, entryText, parseEntry } from './actions.ts';
import type { Action } from './actions.ts';
import { checkpointOf, readCheckpoint } from './checkpoint.ts';
import { parquetOf } from './parquet_rows.ts';
import type { Shape } from './parquet_rows.ts';

const bytesOf = (bytes: Buffer) => Readable.from([bytes]) as AsyncIterable<Buffer>;

test('nested rows come back value by value, with each null at its level', async () => {
  const shapes: Shape[] = [
    {
      name: 'a',
      of: [
        { name: 'text', of: 'text' },
        { name: 'long', of: 'long' },
        { name: 'flag', of: 'boolean' },
        { name: 'map', of: 'map' },
        {
          name: 'inner',
          of: [
            { name: 'list', of: 'list' },
            { name: 'int', of: 'int' },
          ],
        },
      ],
    },
    { name: 'b', of: 'text' },
  ];
  const rows = [
    { a: { text: 'ä', long: -(2n ** 63n), flag: true, map: { k: 'v', n: null }, inner: null } },
    { a: null, b: 'x' },
    {
      a: {
        text: null,
        long: 2n ** 62n,
        flag: false,
        map: {},
        inner: { list: ['p', null], int: 7 },
      },
    },
    { a: { text: '', long: 0, flag: null, map: null, inner: { list: [], int: null } }, b: '' },
    {},
  ];
  const found = await Array.fromAsync(readParquet(bytesOf(parquetOf(shapes, rows)), shapes));
  const told = found.map(([a, b]) => [a === null ? null : JSON.parse(a!), b]);
  const empty = { text: null, long: null, flag: null, map: null };
  assert.deepEqual(told[0], [
    {
      text: 'ä',
      long: -9223372036854775808,
      flag: true,
      map: { k: 'v', n: null },
      inner: null,
    },
    null,
  ]);
  assert.match(found[0]![0]!, /"long":-9223372036854775808/);
  assert.deepEqual(told[1]![1], 'x');
  assert.deepEqual(told[2]![0], {
    text: null,
    long: 4611686018427387904,
    flag: false,
    map: {},
    inner: { list: ['p', null], int: 7 },
  });
  assert.deepEqual(told[3], [{ ...empty, text: '', long: 0, inner: { list: [], int: null } }, '']);
  assert.deepEqual(told[4]![1], null);
});

test('many rows lie in groups that readers take', async () => {
  const shapes: Shape[] = [{ name: 'n', of: 'long' }];
  const rows = Array.from({ length: 50_001 }, (_, n) => ({ n }));
  let [count, sum] = [0, 0];
  for await (const [n] of readParquet(bytesOf(parquetOf(shapes, rows)), shapes)) {
    count += 1;
    sum += Number(n);
  }
  assert.deepEqual([count, sum], [50_001, (50_000 * 50_001) / 2]);
});

test('a checkpoint has the table, but no files that it need not remember', async () => {
  const now = Date.parse('2026-01-31T00:00:00Z');
  const add = (path: string): Action => ({
    add: {
      path,
      partitionValues: {},
      size: 10,
      modificationTime: 1,
      dataChange: true,
      stats: '{"numRecords":1}',
      tags: { key: 'value' },
    },
  });
  const remove = (path: string, deletionTimestamp: number): Action => ({
    remove: { path, deletionTimestamp, dataChange: true, size: 10 },
  });
  const state = emptyState();
  const entries: Action[][] = [
    [
      { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
      {
        metaData: {
          id: 'i',
          name: 'events',
          format: { provider: 'parquet', options: {} },
          schemaString: '{}',
          partitionColumns: [],
          createdTime: 1,
          configuration: { 'delta.appendOnly': 'false' },
        },
      },
      add('a'),
      add('b'),
      add('c'),
      { txn: { appId: 'other', version: 2n ** 60n, lastUpdated: 1 } },
    ],
    [remove('a', now - 8 * 86_400_000), remove('b', now - 6 * 86_400_000)],
  ];
  for (const [version, entry] of entries.entries())
    apply(state, version, parseEntry(entryText(entry)));
  const { bytes, size } = checkpointOf(state, now);
  assert.equal(size, 5);
  const read = await readCheckpoint(1, [bytesOf(bytes)]);
  assert.equal(read.version, 1);
  assert.deepEqual(read.protocol, state.protocol);
  assert.deepEqual(read.metaData, state.metaData);
  assert.deepEqual(read.txns, state.txns);
  assert.deepEqual([...read.removes.keys()], ['b']);
  assert.deepEqual([...read.adds.values()], [{ ...state.adds.get('c')!, dataChange: false }]);
});
