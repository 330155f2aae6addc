import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openDeliveringHarness } from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { parseParquet } from '../../../../test/watchers/read_formats.ts';
import {
  filesOf,
  openDeltaTable,
  layoutOf,
  replaceFiles,
  sourceOf,
} from '../../exports/lake_maintenance/delta/delta_table.ts';
import { rowsOf } from '../../destinations/lake/delta_log/live_files.ts';
import { addEntry } from '../../destinations/lake/delta_log/log.ts';
import { rewriteRows } from '../../exports/lake_maintenance/rewrite_rows.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';

const world = aroundTests(openDeliveringHarness, (opened) => opened.startOnce());
const { send, ask, exported, work } = erasing(() => world);

/**
 * A file of pyarrow 26 as Spark writes it, with instants of 96 bits: rows of two events, at
 * 2026-01-01 00:00:00.123456789 and a nanosecond before 1970.
 */
const int96_file = Buffer.from(
  'UEFSMRUAFawBFWosFQQVABUGFQYcAAAAKLUv/SBWZQEABAICAAAABAEkAAAAMDE5MGEwMDAtMDAwMC03MDAwLTgxMgMA' +
    'lioCHFDe6QQVABUuFUAsFQQVABUGFQYcAAAAKLUv/SAXuQAAAgAAAAQBBAAAAHBhaWQFAAAAc3RheXMVABU8FU4sFQQV' +
    'ABUGFQYcAAAAKLUv/SAe8QAAAgAAAAQBFc1bBwAAAAByjSUA//9OkZROAACLPSUAFQQZTDUAGAZzY2hlbWEVBgAVDCUC' +
    'GAR1dWlkJQBMHAAAABUMJQIYBWV2ZW50JQBMHAAAABUGJQIYCXRpbWVzdGFtcAAWBBkcGTwmABwVDBklBgAZGAR1dWlk' +
    'FQwWBBbUARaSASYISRwVABUAFQIAPBaQARkGGSYABAAAACYAHBUMGSUGABkYBWV2ZW50FQwWBBZUFmYmmgFJHBUAFQAV' +
    'AgA8FhIZBhkmAAQAAAAmABwVBhklBgAZGAl0aW1lc3RhbXAVDBYEFmIWdCaAAkkcFQAVABUCADwpBhkmAAQAAAAWigMW' +
    'BCYIFuwCACggcGFycXVldC1jcHAtYXJyb3cgdmVyc2lvbiAyNi4wLjEZPBwAABwAABwAAAAZAQAAUEFSMQ==',
  'base64',
);
const [int96_paid, int96_stays] = [1, 2].map((n) => `0190a000-0000-7000-8000-00000000000${n}`);

test('instants of 96 bits in a file of another writer do not stop an erasure', async () => {
  const { harness, folder } = world;
  const home = await harness.newOrganization();
  await send(home, [
    { uuid: int96_paid, event: 'paid', distinct_id: 'ada@x.org' },
    { event: 'stays', distinct_id: 'bob@x.org' },
  ]);
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const id = await exported(home, '', { destination });
  const table = join(folder, 'delta', String(home.project.id), 'events');
  await writeFile(join(table, 'part-1.parquet'), int96_file);
  const { signal } = new AbortController();
  const before = (await openDeltaTable(harness.deps.engine, id, crypto.randomUUID(), signal))!;
  const { length: size } = int96_file;
  const stats = '{"numRecords":2}';
  const add = { path: 'part-1.parquet', partitionValues: {}, size, modificationTime: 1, stats };
  assert.ok(
    await addEntry(before.world.log, before.state, [{ add: { ...add, dataChange: true } }]),
  );
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  const after = (await openDeltaTable(harness.deps.engine, id, crypto.randomUUID(), signal))!;
  const rows: unknown[] = [];
  const wanted = ['uuid', 'event', 'timestamp', 'distinct_id'].map((name) => ({ name }));
  for await (const row of rowsOf(after.world, after.state, wanted)) rows.push(row);
  assert.equal(rows.length, 2);
  // Microseconds are what the type of the column has.
  const foreign = [int96_stays, 'stays', '1969-12-31T23:59:59.999999Z', null];
  assert.ok(
    rows.some((row) => isDeepStrictEqual(row, foreign)),
    JSON.stringify(rows),
  );
});

test('rows without a key leave by the person, and by a filter they are yours', async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'paid', distinct_id: 'ada@x.org' },
    { event: 'paid', distinct_id: 'bob@x.org' },
  ]);
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const custom_query = 'SELECT distinct_id, event, timestamp FROM events';
  const id = await exported(home, '', { destination, custom_query });
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  const { signal } = new AbortController();
  const after = (await openDeltaTable(harness.deps.engine, id, crypto.randomUUID(), signal))!;
  const rows: unknown[] = [];
  for await (const row of rowsOf(after.world, after.state, [{ name: 'distinct_id' }]))
    rows.push(row);
  assert.deepEqual(rows, [['bob@x.org']]);
  const { body: rest } = await ask(home, 'POST', 'erasures/', { filter: { events: ['paid'] } });
  const { copies } = await work(home, rest.id);
  assert.deepEqual(copies, { waiting: 0, rewriting: 0, rewritten: 0, yours: 1 });
});

test('a person whose rows were compacted leaves, also as the only one of a delivery', async () => {
  const { harness, folder } = world;
  const { engine } = harness.deps;
  const home = await harness.newOrganization();
  await send(home, [{ event: 'paid', distinct_id: 'cy@x.org' }]);
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const id = await exported(home, '', { destination });
  const { signal } = new AbortController();
  const before = (await openDeltaTable(engine, id, crypto.randomUUID(), signal))!;
  const group = [...before.state.adds.values()];
  const metadata = layoutOf(before);
  const sources = group.map(sourceOf);
  const files = filesOf(before);
  const rows = await rewriteRows({ ...before, files }, { metadata, sources, by_name: true });
  assert.equal(await replaceFiles(before, group, rows, 'compaction'), true);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['cy@x.org'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  const table = join(folder, 'delta', String(home.project.id), 'events');
  const found = await readdir(table, { recursive: true });
  assert.deepEqual(
    found.filter((name) => name.endsWith('.parquet') && !name.includes('checkpoint')),
    [],
  );
  const [finding] = await verifyExports(engine, id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
});

test('a person leaves a Delta table, its files and its log', async () => {
  const { harness, folder } = world;
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'paid', distinct_id: 'ada@x.org' },
    { event: 'stays', distinct_id: 'bob@x.org' },
  ]);
  const destination = { type: 'Delta', config: { storage: 'File', table: 'events' } };
  const id = await exported(home, '', { destination });
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  const table = join(folder, 'delta', String(home.project.id), 'events');
  const found = await readdir(table, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  for (const path of paths) assert.doesNotMatch(await readFile(path, 'latin1'), /ada@x/);
  const data = paths.filter((path) => path.endsWith('.parquet'));
  assert.equal(data.length, 1);
  const columns = [{ name: 'distinct_id', type: 'text' }] as never;
  const rows = (await parseParquet(await readFile(data[0]!), columns)) as { distinct_id: string }[];
  assert.deepEqual(
    rows.map(({ distinct_id }) => distinct_id),
    ['bob@x.org'],
  );
  const [finding] = await verifyExports(harness.deps.engine, id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
});
