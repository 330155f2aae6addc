import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport, projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  eventsIn,
  openDeliveringHarness,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { isSigned } from '../../../platform/secrets/secrets.ts';
import { sharedRefusedEvents } from '../../ingest/warnings/refused_events.ts';
import { sharedWarnings } from '../../ingest/warnings/warnings.ts';
import { retainRows } from '../retention/look.ts';
import { sweepNotes } from './certify.ts';
import { workOneStep } from './work.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const world = aroundTests(openDeliveringHarness, (opened) => opened.startOnce());

const { ask, send, exported, work } = erasing(() => world);

async function stored(home: TestOrganization): Promise<string[]> {
  const found = await world.harness.deps.clickhouse.rows<{ row: string }>({
    query: `SELECT concat(event, ' ', distinct_id, ' ', properties) AS row FROM events
      WHERE team_id = ${home.project.id} UNION ALL
      SELECT concat('person ', distinct_id, ' ', properties) AS row FROM persons
      WHERE team_id = ${home.project.id}`,
  });
  return found.map(({ row }) => row).toSorted();
}

test('a person leaves the store and what was delivered, and does not come back', async () => {
  const { harness, folder } = world;
  const home = await harness.newOrganization();
  const uuid = crypto.randomUUID();
  await send(home, [
    { event: 'visited', distinct_id: 'visitor-1', $set: { city: 'London' }, uuid },
    {
      event: '$identify',
      distinct_id: 'ada@x.org',
      properties: { $anon_distinct_id: 'visitor-1' },
    },
    { event: 'paid', distinct_id: 'ada@x.org', $set: { name: 'Ada' } },
    { event: 'stays', distinct_id: 'bob@x.org', $set: { name: 'Bob' } },
    { event: 'again', distinct_id: 'visitor-1', uuid },
  ]);
  const headers = { 'x-write-key': home.project.api_token };
  await harness.request('POST', '/e/', { headers, body: { event: 'of ada@x.org' } });
  await sharedWarnings(harness.deps).store();
  await sharedRefusedEvents(harness.deps).store();
  const [id, persons] = await Promise.all([
    exported(home, 'ada'),
    exported(home, 'ada-persons', { model: 'persons' }),
  ]);
  const wanted = { distinct_ids: ['visitor-1'] };
  const { body: size } = await ask(home, 'POST', 'erasures/preview/', wanted);
  assert.deepEqual(size, { distinct_ids: 2, events: 3, person_versions: 2, refused_events: 1 });
  const { body: asked } = await ask(home, 'POST', 'erasures/', wanted);
  assert.deepEqual(asked.asked, { distinct_ids: 1, person_ids: 0 });
  const done = await work(home, asked.id);
  assert.deepEqual(done.counts, {
    distinct_ids: 2,
    persons: 2,
    person_versions: 2,
    events: 3,
    warning_examples: 1,
    refused_events: 1,
    log_lines: 0,
    plugin_jobs: 0,
    plugin_values: 0,
  });
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 2, yours: 0 });
  assert.ok(isSigned(done.certificate, done.signature, done.public_key));
  assert.doesNotMatch(JSON.stringify(done), /visitor-1|ada@x/);
  assert.deepEqual(await eventsIn(folder, 'ada'), ['stays']);
  const left = await readdir(join(folder, 'ada-persons'), { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of left.filter((entry) => entry.isFile()))
    assert.doesNotMatch(await readFile(join(parentPath, name), 'utf8'), /visitor-1|ada@x/);
  for (const one of [id, persons]) {
    const [finding] = await verifyExports(harness.deps.engine, one);
    assert.deepEqual([finding!.fault, finding!.differences, finding!.records], [null, [], 1]);
  }
  const run = await harness.deps.db.row<{ receipt: string; replaced: string }>(sql`
    SELECT n.receipt, o.receipt AS replaced FROM batch_export_runs n JOIN batch_export_runs o
      ON o.id = (n.replaces ->> 'run_id')::uuid WHERE n.batch_export_id = ${id}`);
  const { replaces } = JSON.parse(run!.receipt);
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(run!.replaced));
  assert.equal(replaces.receipt_sha256, Buffer.from(digest).toString('hex'));
  // Another visitor comes with what is left in a browser of the person who was erased.
  const late = await send(home, [
    { event: 'late', distinct_id: 'ada@x.org', $set: { name: 'Ada' } },
    {
      event: '$identify',
      distinct_id: 'eve',
      properties: { $anon_distinct_id: 'visitor-1', a: 1 },
    },
  ]);
  assert.deepEqual([late.taken, late.refused], [1, 1]);
  assert.deepEqual(await stored(home), [
    '$identify eve {"a":1}',
    'person bob@x.org {"name":"Bob"}',
    'stays bob@x.org {"$set":{"name":"Bob"}}',
  ]);
});

test('an erasure by filter removes matches, keeps persons, and names nobody', async () => {
  const { harness, folder } = world;
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'old', distinct_id: 'a', timestamp: '2026-01-05T00:00:00Z', properties: { n: 1 } },
    { event: 'old', distinct_id: 'a', timestamp: '2026-01-05T00:00:00Z', properties: { n: '1' } },
    { event: 'old', distinct_id: 'b', timestamp: '2026-01-06T00:00:00Z', properties: { n: 1 } },
    { event: 'other', distinct_id: 'b', timestamp: '2026-01-05T00:00:00Z', properties: { n: 1 } },
  ]);
  const range = { start_at: '2026-01-05T00:00:00Z', end_at: '2026-01-06T01:00:00Z' };
  await exported(home, 'filter', { range });
  const wanted = {
    filter: {
      events: ['old'],
      after: '2026-01-05T00:00:00Z',
      before: '2026-01-06T00:00:00Z',
      properties: [{ key: 'n', value: 1 }],
    },
  };
  const { body: size } = await ask(home, 'POST', 'erasures/preview/', wanted);
  assert.deepEqual(size, { distinct_ids: 0, events: 1, person_versions: 0, refused_events: 0 });
  const { body: asked } = await ask(home, 'POST', 'erasures/', wanted);
  const done = await work(home, asked.id);
  assert.equal(done.counts.events, 1);
  assert.deepEqual(await stored(home), ['old a {"n":"1"}', 'old b {"n":1}', 'other b {"n":1}']);
  assert.equal((await eventsIn(folder, 'filter')).length, 3);
  const sealed = await harness.deps.db.row<{ criteria_sealed: null }>(
    sql`SELECT criteria_sealed FROM erasures WHERE id = ${asked.id}`,
  );
  assert.equal(sealed!.criteria_sealed, null);
});

test('an erasure killed at each step continues; later events have no person', async () => {
  const home = await world.harness.newOrganization();
  const { db, clickhouse, engine } = world.harness.deps;
  await send(home, [
    { event: 'e', distinct_id: 'carol', $set: { a: 1 } },
    { event: 'e', distinct_id: 'dave', $set: { a: 1 } },
  ]);
  const { body: asked } = await ask(home, 'POST', 'erasures/', {
    distinct_ids: ['carol'],
    late_events: 'anonymize',
  });
  let before = 'resolve';
  for (const step of ['note', 'remove', 'settle', 'rewrite', 'scrub', 'files', 'certify']) {
    await work(home, asked.id, step);
    // The step before was done, and the process was killed before it could say so.
    await db.run(sql`UPDATE erasures SET step = ${before}, claimed_at = '2026-01-01Z',
      claim_id = ${asked.id} WHERE id = ${asked.id}`);
    before = step;
    await work(home, asked.id, step);
  }
  const done = await work(home, asked.id);
  assert.equal(done.counts.events, 1);
  await send(home, [{ event: 'late', distinct_id: 'carol', $set: { a: 1 }, properties: { b: 2 } }]);
  assert.deepEqual(await stored(home), [
    'e dave {"$set":{"a":1}}',
    'late $erased {}',
    'person dave {"a":1}',
  ]);
  const noted = await clickhouse.rows({ query: 'SELECT count() AS rows FROM erasing_rows' });
  assert.deepEqual(noted, [{ rows: 0 }]);
  // An erasure whose project is deleted leaves no notes either.
  const { body: gone } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['dave'] });
  await work(home, gone.id, 'remove');
  await ask(home, 'DELETE', '');
  assert.equal(await sweepNotes(engine, new AbortController().signal), 2);
});

test('a run that had counted erased rows restarts', async () => {
  const { db } = world.harness.deps;
  const home = await world.harness.newOrganization();
  await send(home, [{ event: 'e', distinct_id: 'frank' }]);
  const { id } = await newExport(home);
  const run = crypto.randomUUID();
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, attempt, worker_id, started_at,
      records_total_count, due_at)
    VALUES (${run}, ${id}, ${home.project.id}, 1, ${run}, 'Running', '2026-01-01Z', '2026-01-02Z',
      '[]', 3, ${run}, now(), 1, '2036-01-01Z')`);
  await db.run(sql`INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to,
    records) VALUES (${run}, 0, '2026-01-01Z', '2026-01-02Z', 1)`);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['frank'] });
  await work(home, asked.id, 'rewrite');
  const now = await db.row<{ attempt: number; records_total_count: null; slices: number }>(sql`
    SELECT attempt, records_total_count, (SELECT count(*) FROM batch_export_slices
      WHERE run_id = ${run}) AS slices FROM batch_export_runs WHERE id = ${run}`);
  assert.ok(now!.attempt > 3);
  assert.equal(now!.slices, 0);
});

test('a wrong request is 400, and places that cannot be rewritten are listed', async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  for (const [body, attr] of [
    [{}, 'distinct_ids'],
    [{ filter: {} }, 'filter'],
    [{ filter: { event: ['a'] } }, 'filter__event'],
    [{ filter: { events: ['a'], propertys: [] } }, 'filter__propertys'],
    [{ filter: { events: ['a'] }, distinct_ids: ['b'] }, 'filter'],
    [{ distinct_ids: [] }, 'distinct_ids'],
    [
      { filter: { after: '2026-01-02T00:00:00Z', before: '2026-01-01T00:00:00Z' } },
      'filter__before',
    ],
  ] as const) {
    const answer = await ask(home, 'POST', 'erasures/', body);
    assert.deepEqual([answer.status, answer.body['attr']], [400, attr]);
  }
  const member = await harness.newMember(home.organization.id, 1);
  const refused = await member.ask('POST', `/api/projects/${home.project.id}/erasures/`, {
    distinct_ids: ['grace'],
  });
  assert.equal(refused.status, 403);
  await send(home, [{ event: 'e', distinct_id: 'grace' }]);
  const id = await exported(home, 'grace');
  await harness.request('DELETE', `${projectBase(home)}${id}/`, { key: home.key });
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['grace'] });
  const done = await work(home, asked.id);
  assert.equal(done.copies.yours, 1);
  const { results } = (await ask(home, 'GET', `erasures/${asked.id}/copies/?state=yours`)).body;
  assert.match(results[0].detail, /The export was deleted/);
  assert.match(results[0].place, /^grace\/.*\.jsonl$/);
  const { copies_for_you } = JSON.parse(done.certificate);
  assert.deepEqual(copies_for_you[0].places, [results[0].place]);
});

test('an erasure that waits delays only those of the same deliveries', async () => {
  const { db } = world.harness.deps;
  const home = await world.harness.newOrganization();
  await send(home, [
    { event: 'one', distinct_id: 'ada' },
    { event: 'one', distinct_id: 'carol' },
    { event: 'other', distinct_id: 'bob' },
    { event: 'other', distinct_id: 'stays' },
  ]);
  await Promise.all(
    ['one', 'other'].map((name) => exported(home, name, { include_events: [name] })),
  );
  const erase = async (id: string): Promise<string> =>
    (await ask(home, 'POST', 'erasures/', { distinct_ids: [id] })).body.id;
  const [ada, bob, carol] = await Promise.all(['ada', 'bob', 'carol'].map(erase));
  await db.run(sql`UPDATE erasures SET created_at = created_at - interval '1 minute'
    WHERE id = ${ada}`);
  const detailOf = async (id: string) => (await ask(home, 'GET', `erasures/${id}/`)).body.detail;
  assert.match(await detailOf(bob!), /asked for before/);
  await work(home, ada!, 'rewrite');
  // As while its destination is away.
  await db.run(sql`UPDATE erasures SET due_at = '2036-01-01Z' WHERE id IN (${ada}, ${carol})`);
  await db.run(sql`UPDATE erasures SET created_at = now() WHERE id = ${carol}`);
  assert.equal(await detailOf(bob!), null);
  assert.equal((await work(home, bob!)).copies.rewritten, 1);
  assert.deepEqual(await eventsIn(world.folder, 'other'), ['other']);
  await work(home, carol!, 'note');
  await db.run(sql`UPDATE erasures SET due_at = '2026-01-01Z' WHERE id = ${carol}`);
  await workOneStep(world.harness.deps.engine, new AbortController().signal, 0);
  const waiting = (await ask(home, 'GET', `erasures/${carol}/`)).body;
  assert.deepEqual([waiting.step, waiting.copies.yours], ['note', 0]);
  assert.match(waiting.detail, /which rewrites 1 of the same deliveries/);
  for (const id of [ada, carol]) assert.equal((await work(home, id!)).copies.rewritten, 1);
  assert.deepEqual(await eventsIn(world.folder, 'one'), []);
  assert.deepEqual(await stored(home), ['other stays {}']);
});

test('an erasure and retention wait for each other', async () => {
  const { db, clickhouse, engine } = world.harness.deps;
  const home = await world.harness.newOrganization();
  const team_id = home.project.id;
  const old = { team_id, uuid: crypto.randomUUID(), event: 'old', inserted_at: '2026-01-01' };
  await clickhouse.insert({ table: 'events', values: [old], format: 'JSONEachRow' });
  await db.run(sql`UPDATE projects SET retention = 'days', updated_at = '2026-01-01Z'
    WHERE id = ${team_id}`);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['heidi'] });
  await retainRows(engine, new AbortController().signal);
  assert.equal((await stored(home)).length, 1, 'a delivery may have to be written once more');
  await db.run(sql`INSERT INTO retention_removals (id, team_id, retention, removed_before, areas)
    VALUES (${asked.id}, ${team_id}, 'days', '2026-01-02Z', '{}')`);
  await db.run(sql`UPDATE erasures SET due_at = '2025-01-01Z' WHERE id = ${asked.id}`);
  await workOneStep(engine, new AbortController().signal, 0);
  const { body } = await ask(home, 'GET', `erasures/${asked.id}/`);
  assert.deepEqual([body.step, /retention/.test(body.detail)], ['resolve', true]);
});
