import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
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
import { rewriteRows } from '../../exports/lake_maintenance/rewrite_rows.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';

const world = aroundTests(openDeliveringHarness, (opened) => opened.startOnce());
const { send, ask, exported, work } = erasing(() => world);

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
