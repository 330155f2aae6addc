import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inTurn } from '../../../test/depth.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openDeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { erasing } from '../../../test/factories/events/erasures.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { compressionsOf, fileFormats } from '../../engine/model/destination/encoding.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';

const delivering = aroundTests(async () => {
  const opened = await openDeliveringHarness();
  await opened.startOnce();
  return opened;
});
const { send, exported, work, ask } = erasing(() => delivering);

/** An event of 200 characters, which are 300 as a folder has them. */
const long = 'x'.repeat(150) + '/'.repeat(50);
/** Kiritimati is 14 hours ahead: events of these two hours are of two of its days. */
const [earlier, later] = [9, 10].map(
  (hour) => `2026-03-01T${String(hour).padStart(2, '0')}:30:00Z`,
);

/** Two persons, three events of two local days; one event is kim's alone. */
async function insertEvents(home: TestOrganization): Promise<void> {
  const events = [
    { event: '$pageview', distinct_id: 'kim', timestamp: earlier },
    { event: '$pageview', distinct_id: 'lou', timestamp: later },
    { event: 'büy 50%/= it', distinct_id: 'lou', timestamp: later },
    { event: long, distinct_id: 'lou', timestamp: later },
    { event: 'kim_only', distinct_id: 'kim', timestamp: later },
  ];
  await send(
    home,
    events.map((event) => ({ ...event, uuid: crypto.randomUUID(), properties: {} })),
  );
}

async function filesIn(prefix: string): Promise<string[]> {
  const entries = await readdir(join(delivering.folder, prefix), {
    recursive: true,
    withFileTypes: true,
  });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(delivering.folder.length + 1))
    .toSorted();
}

const foldersOf = (names: string[], prefix: string) =>
  names
    .filter((name) => !name.includes('/_sluice/'))
    .map((name) => name.slice(prefix.length + 1, name.lastIndexOf('/')));

const parted = {
  timezone: 'Pacific/Kiritimati',
  config: { partition_by: ['event', 'date'] },
  range: { start_at: '2026-03-01T00:00:00Z', end_at: '2026-03-02T00:00:00Z' },
};

test('files lie by the local day and the event of their rows, and are known', async () => {
  const home = await delivering.harness.newOrganization();
  await insertEvents(home);
  const id = await exported(home, 'by_both', parted);
  const names = await filesIn('by_both');
  assert.deepEqual(foldersOf(names, 'by_both'), [
    'dt=2026-03-01/event=%24pageview',
    'dt=2026-03-02/event=%24pageview',
    'dt=2026-03-02/event=__HIVE_DEFAULT_PARTITION__',
    'dt=2026-03-02/event=büy%2050%25%2F%3D%20it',
    'dt=2026-03-02/event=kim_only',
  ]);
  assert.equal(names.filter((name) => name.startsWith('by_both/_sluice/')).length, 2);
  const [verified] = await verifyExports(delivering.harness.deps.engine, id);
  assert.deepEqual([verified!.fault, verified!.differences], [null, []]);

  const file = names.filter((name) => !name.includes('/_sluice/'))[1]!;
  const [line] = (await readFile(join(delivering.folder, file), 'utf8')).split('\n');
  const { uuid } = JSON.parse(line!) as { uuid: string };
  const found = await ask(home, 'GET', `find/?uuid=${uuid}&batch_export=${id}`);
  assert.equal(found.status, 200, found.text);
  assert.equal(found.body.records[0].exports[0].slice.name, file);

  await writeFile(join(delivering.folder, file), line!.replace('lou', 'max'));
  await writeFile(join(delivering.folder, file.replace(/-p\d-/, '$&9')), 'x');
  const [changed] = await verifyExports(delivering.harness.deps.engine, id);
  assert.deepEqual(
    changed!.differences.map(({ kind, name }) => [kind, name]).toSorted(),
    [
      ['added', file.replace(/-p\d-/, '$&9')],
      ['changed', file],
    ],
    JSON.stringify(changed!.differences),
  );
});

test('erased rows leave the files of every partition; one without rows goes', async () => {
  const home = await delivering.harness.newOrganization();
  await insertEvents(home);
  const id = await exported(home, 'erased', parted);
  const { body: erasure } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['kim'] });
  await work(home, erasure.id);
  assert.deepEqual(foldersOf(await filesIn('erased'), 'erased'), [
    'dt=2026-03-02/event=%24pageview',
    'dt=2026-03-02/event=__HIVE_DEFAULT_PARTITION__',
    'dt=2026-03-02/event=büy%2050%25%2F%3D%20it',
  ]);
  const [finding] = await verifyExports(delivering.harness.deps.engine, id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
});

test('every format can be parted, with a compression and a bound on the size', async () => {
  const home = await delivering.harness.newOrganization();
  await insertEvents(home);
  const formats = inTurn(fileFormats, 2);
  const parts = await Promise.all(
    formats.map(async (file_format) => {
      const compression = compressionsOf(file_format)[0]!;
      const config = { partition_by: ['date'], max_file_size_mb: 1, file_format, compression };
      return exported(home, file_format, { ...parted, config });
    }),
  );
  for (const [index, prefix] of formats.entries()) {
    const days = ['dt=2026-03-01', 'dt=2026-03-02'];
    assert.deepEqual(foldersOf(await filesIn(prefix), prefix), days);
    const [finding] = await verifyExports(delivering.harness.deps.engine, parts[index]);
    assert.deepEqual([finding!.fault, finding!.differences], [null, []], prefix);
  }
});

test('rows without the columns of events are not parted', async () => {
  const home = await delivering.harness.newOrganization();
  const create = (partition_by: string[], more: object) =>
    home.ask('POST', projectBase(home), {
      name: 'parted',
      interval: 'hour',
      destination: { type: 'File', config: { prefix: 'no', partition_by } },
      ...more,
    });
  for (const [keys, more] of [
    [['date'], { model: 'persons' }],
    [['event'], { custom_query: 'SELECT timestamp FROM events' }],
    [['event'], { custom_query: 'SELECT upper(event) AS event FROM events' }],
    [['date'], { custom_query: 'SELECT timestamp, count() AS n FROM events GROUP BY timestamp' }],
  ] as const) {
    const { status, body } = await create([...keys], more);
    assert.deepEqual([status, body.attr], [400, 'destination__config__partition_by'], body.detail);
  }
  assert.equal((await create(['hour'], {})).body.attr, 'destination__config__partition_by__0');
  const query = 'SELECT event, timestamp AS timestamp FROM events';
  const { body } = await create(['event', 'date'], { custom_query: query });
  const changed = await home.ask('PATCH', `${projectBase(home)}${body.id}/`, {
    model: 'persons',
    custom_query: null,
  });
  assert.deepEqual([changed.status, changed.body.attr], [400, 'destination__config__partition_by']);
});

test('a parted export takes the zone of its days: another one is a new revision', async () => {
  const home = await delivering.harness.newOrganization();
  const config = { prefix: 'zone', partition_by: ['date'] };
  const { id } = await newExport(home, { destination: { type: 'File', config } });
  const revisionAfter = async (body: object) => {
    const { status } = await home.ask('PATCH', `${projectBase(home)}${id}/`, body);
    assert.equal(status, 200);
    return (await delivering.harness.deps.db.row<{ revision: number }>(
      sql`SELECT revision FROM batch_exports WHERE id = ${id}`,
    ))!.revision;
  };
  const revision = await revisionAfter({ name: 'same' });
  assert.equal(await revisionAfter({ timezone: 'Asia/Tokyo' }), revision + 1);
  const unparted = { destination: { type: 'File', config: { prefix: 'zone', partition_by: [] } } };
  assert.equal(await revisionAfter(unparted), revision + 2);
  assert.equal(await revisionAfter({ timezone: 'Europe/Berlin' }), revision + 2);
});
