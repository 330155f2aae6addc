// Length: looks at each kind of place, from the first delivery to each change of it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { insertRunRow } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { lookAt } from '../../../../test/factories/batch_exports/looks.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { forgetDelivered } from '../../../engine/exports/verification/missing_deliveries.ts';
import { planLooks } from '../../../engine/exports/verification/watches.ts';
import {
  part_deliveries_max,
  verifyExports,
} from '../../../engine/exports/verification/verify_exports.ts';
import { workVerifications } from '../../../engine/exports/verification/work.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

/** An hourly export of three hours with four events each, delivered. */
async function exported(destination: Record<string, unknown>, hours = 3) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: 4 * hours }, (_, n) => ({
      event: `event ${n}`,
      at: `2026-01-01T0${Math.floor(n / 4)}:1${n % 4}:00Z`,
      properties: { n },
    })),
  );
  const made = await exporting.scheduled(home, { name: 'proven', destination });
  await exporting.runAll(made.id);
  const { deps } = exporting.harness;
  const watch = async () =>
    (await deps.db.row<Record<string, unknown>>(sql`
      SELECT verified_through, cycles, reason, is_verifiable, balance_ms FROM batch_export_watches
      WHERE batch_export_id = ${made.id}`))!;
  const deviations = () =>
    deps.db.rows<{ kind: string; differences: number; name: string }>(sql`
      SELECT kind, differences, name FROM batch_export_deviations
      WHERE batch_export_id = ${made.id} AND resolved_at IS NULL ORDER BY kind`);
  return { home, ...made, watch, deviations, look: () => lookAt(deps, made.id) };
}

const toFiles = () => {
  const prefix = `looked-${randomUUID()}`;
  return { prefix, destination: { type: 'File', config: { prefix } } };
};

async function toTable() {
  const config = await postgres.freshConfig();
  return { table: `${config.schema}.events`, destination: { type: 'Postgres', config } };
}

const through = '2026-01-01T03:00:00.000000Z';
const read = (id: string) =>
  exporting.harness.deps.db.rows<{ is_read: boolean }>(
    sql`SELECT read_at IS NOT NULL AS is_read FROM batch_export_seals
      WHERE batch_export_id = ${id}`,
  );

test('looks verify an untouched export, and read each delivery once', async () => {
  for (const destination of [toFiles().destination, (await toTable()).destination]) {
    const one = await exported(destination);
    await one.look();
    const { verified_through, cycles } = await one.watch();
    assert.deepEqual([verified_through, cycles], [through, 1]);
    assert.deepEqual(await one.deviations(), []);
    assert.deepEqual(
      await read(one.id),
      [true, true, true].map((is_read) => ({ is_read })),
    );
    const { deps } = exporting.harness;
    await deps.db.run(sql`UPDATE batch_export_seals SET read_at = '2026-01-01'
      WHERE batch_export_id = ${one.id}`);
    await one.look();
    assert.equal((await one.watch())['cycles'], 2);
    const again = await deps.db.rows(sql`SELECT 1 FROM batch_export_seals
      WHERE batch_export_id = ${one.id} AND read_at > '2026-01-02'`);
    assert.equal(again.length, 0, 'an unchanged delivery was read again');
  }
});

test('a verification that a person asks for keeps the seals of what it read', async () => {
  for (const destination of [toFiles().destination, (await toTable()).destination]) {
    const one = await exported(destination);
    const { home } = one;
    const path = `/api/projects/${home.project.id}/batch_exports/${one.id}/`;
    await home.ask('POST', `${path}verifications/`, {});
    await workVerifications(exporting.harness.deps.engine, AbortSignal.timeout(60_000));
    const { body } = await home.ask('GET', `${path}statement/`);
    assert.deepEqual([body.verified.records, body.read.records], [12, 12]);
    const seen = () =>
      exporting.harness.deps.db.row<{ reads: number }>(sql`
        SELECT count(DISTINCT read_at) AS reads FROM batch_export_seals
        WHERE batch_export_id = ${one.id}`);
    await one.look();
    assert.deepEqual(await seen(), { reads: 1 }, 'the look read what the person had read');
  }
});

test('each change of a table is found by the next look, and told once', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination);
  await one.look();
  const run = (text: string) => postgres.pool.query(text);
  await run(`DELETE FROM ${table} WHERE event = 'event 1'`);
  await run(`UPDATE ${table} SET properties = '{"n": 99}' WHERE event = 'event 5'`);
  await run(`INSERT INTO ${table} SELECT * FROM ${table} WHERE event = 'event 10'`);
  await run(
    `INSERT INTO ${table} (uuid, event, properties, distinct_id, team_id, timestamp)
      VALUES (gen_random_uuid(), 'foreign', '{}', 'd', 1, now())`,
  );
  await one.look();
  const found = await one.deviations();
  assert.deepEqual(
    found.map(({ kind, differences }) => [kind, differences]),
    [
      ['changed', 1],
      ['doubled', 1],
      ['foreign', 1],
      ['missing', 1],
    ],
  );
  assert.equal((await one.watch())['verified_through'], null);
  const notices = () =>
    exporting.harness.deps.db.rows<{ body: string }>(sql`SELECT body FROM notices
      WHERE batch_export_id = ${one.id} AND event = 'differing'`);
  assert.match(
    (await notices()).map(({ body }) => JSON.parse(body).data.detail).join(' '),
    /1 row of 1 January 2026 is missing from events: somebody else deleted it at the destination\./,
  );
  const before = (await notices()).length;
  await one.look();
  assert.equal((await notices()).length, before);
  assert.equal((await one.deviations()).length, 4);
});

test('each change of files is found, and resolved when it is mended', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  await one.look();
  const folder = join(exporting.folder, prefix);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  const [first, second] = names.map((name) => join(folder, name)) as [string, string];
  const [bytes, flipped] = [await readFile(first), await readFile(second)];
  await rm(first);
  flipped[flipped.length - 3]! ^= 1;
  await writeFile(second, flipped);
  await writeFile(join(folder, 'stranger.jsonl'), '{}\n');
  await one.look();
  const kinds = async () => (await one.deviations()).map(({ kind }) => kind);
  assert.deepEqual(await kinds(), ['changed', 'foreign', 'missing']);
  assert.equal((await one.watch())['verified_through'], null);
  await writeFile(first, bytes);
  flipped[flipped.length - 3]! ^= 1;
  await writeFile(second, flipped);
  await rm(join(folder, 'stranger.jsonl'));
  await one.look();
  assert.deepEqual(await kinds(), []);
  assert.equal((await one.watch())['verified_through'], through);
});

test('looks at new deliveries follow the first one, and reach back to a finding', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  const { deps } = exporting.harness;
  const lookWhenDue = () => lookAt(deps, one.id, { is_forced: false });
  const isThrough = async (hour: number) =>
    assert.equal((await one.watch())['verified_through'], `2026-01-01T0${hour}:00:00.000000Z`);
  await lookWhenDue();
  await isThrough(3);
  const deliver = async (hour: number) => {
    await exporting.insert(one.home, [{ event: 'later', at: `2026-01-01T0${hour}:10:00Z` }]);
    await exporting.extend(one.id, hour + 1);
    await exporting.runAll(one.id);
  };
  await deliver(3);
  await lookWhenDue();
  await isThrough(4);
  const folder = join(exporting.folder, prefix);
  const [, name] = (await readdir(folder)).filter((each) => each.endsWith('.jsonl')).toSorted();
  const file = join(folder, name!);
  const whole = await readFile(file);
  await writeFile(file, whole.subarray(0, -10));
  await one.look();
  assert.notDeepEqual(await one.deviations(), []);
  await writeFile(file, whole);
  await deliver(4);
  await lookWhenDue();
  await isThrough(5);
  assert.deepEqual(await one.deviations(), []);
});

test('looks at new deliveries lead on after a backfill by event time that was seen', async () => {
  const one = await exported(toFiles().destination);
  const { deps } = exporting.harness;
  const backfill = async (day: number) => {
    const at = `2025-12-0${day}T`;
    await exporting.insert(one.home, [{ event: 'earlier', at: `${at}00:10:00Z` }]);
    const range = { start_at: `${at}00:00:00Z`, end_at: `${at}01:00:00Z` };
    const made = await one.send('POST', 'backfill/', range);
    await exporting.advance(one.id, made.body.backfill.id);
  };
  const deliver = async (hour: number) => {
    await exporting.insert(one.home, [{ event: 'later', at: `2026-01-01T0${hour}:10:00Z` }]);
    await exporting.extend(one.id, hour + 1);
    await exporting.runAll(one.id);
    await lookAt(deps, one.id, { is_forced: false });
    return (await one.watch())['verified_through'];
  };
  await backfill(1);
  await one.look();
  assert.equal((await one.watch())['verified_through'], through);
  assert.equal(await deliver(3), '2026-01-01T04:00:00.000000Z');
  await backfill(2);
  assert.equal(await deliver(4), '2026-01-01T04:00:00.000000Z');
  await one.look();
  assert.equal((await one.watch())['verified_through'], '2026-01-01T05:00:00.000000Z');
});

test('an export at which a look fails holds back no other one', async () => {
  const { db, engine } = exporting.harness.deps;
  const broken = await exported(toFiles().destination);
  const other = await exported(toFiles().destination);
  // The first two plan nothing for each other.
  for (const { id } of [broken, other]) await lookAt({ db, engine }, id, { is_worked: false });
  const ids = [broken.id, other.id];
  await db.run(sql`DELETE FROM batch_export_verifications WHERE batch_export_id = ANY(${ids})`);
  await db.run(sql`UPDATE batch_export_watches SET due_at = 'infinity'`);
  await db.run(sql`UPDATE batch_export_watches SET balance_ms = 60000,
    due_at = CASE batch_export_id WHEN ${broken.id} THEN '2026-01-01'::timestamptz
      ELSE '2026-01-02' END WHERE batch_export_id = ANY(${ids})`);
  await db.run(sql`CREATE FUNCTION refuse_look() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'no look here'; END $$`);
  await db.run(
    sql`${raw(`CREATE TRIGGER refuse_look BEFORE INSERT ON batch_export_verifications
    FOR EACH ROW WHEN (NEW.batch_export_id = '${broken.id}') EXECUTE FUNCTION refuse_look()`)}`,
  );
  try {
    await assert.rejects(planLooks(engine), /no look here/);
  } finally {
    await db.run(sql`DROP TRIGGER refuse_look ON batch_export_verifications`);
    await db.run(sql`DROP FUNCTION refuse_look()`);
  }
  const begun = await db.rows(sql`SELECT batch_export_id AS id FROM batch_export_verifications
    WHERE batch_export_id = ANY(${ids})`);
  assert.deepEqual(begun, [{ id: other.id }]);
});

test('a look without budget counts rows, and reads them later', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination);
  const { db } = exporting.harness.deps;
  const spend = () => lookAt(exporting.harness.deps, one.id, { balance_ms: 0 });
  await postgres.pool.query(`UPDATE ${table} SET event = 'other' WHERE event = 'event 11'`);
  await spend();
  assert.deepEqual(await one.deviations(), []);
  assert.deepEqual(
    await read(one.id),
    [false, false, false].map((is_read) => ({ is_read })),
  );
  await one.look();
  assert.deepEqual(
    (await one.deviations()).map(({ kind }) => kind),
    ['changed'],
  );
  await db.run(sql`SELECT 1`);
});

test('a look at all deliveries that was paused continues behind its last part', async () => {
  const { prefix, destination } = toFiles();
  const one = await exported(destination);
  const { db } = exporting.harness.deps;
  await one.look();
  const folder = join(exporting.folder, prefix);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  await rm(join(folder, names[0]!));
  await rm(join(folder, names[2]!));
  await db.run(sql`
    UPDATE batch_export_watches SET cycle_ended_at = '2026-01-01', cycle_looked_at = '2026-01-01',
      paused_cycle = (SELECT jsonb_build_object('started_at', now(), 'deliveries', 3, 'records', 12,
          'deliveries_checked', 1, 'records_checked', 4, 'differences', 0, 'notes', '[]'::jsonb,
          'is_unproven', false, 'position', jsonb_build_object('delivery_id', r.delivery_id,
            'data_interval_start', r.data_interval_start))
        FROM batch_export_runs r WHERE r.batch_export_id = ${one.id}
        ORDER BY r.data_interval_start DESC LIMIT 1)
    WHERE batch_export_id = ${one.id}`);
  await lookAt(exporting.harness.deps, one.id, { is_forced: false });
  const found = async () => (await one.deviations()).map(({ name }) => name.split('/').at(-1));
  assert.deepEqual(await found(), [names[0]]);
  assert.equal((await one.watch())['cycles'], 2);
  await one.look();
  assert.equal((await found()).length, 2);
});

test('a look at all deliveries pauses after a part that used up the budget', async () => {
  const one = await exported(toFiles().destination);
  const { db } = exporting.harness.deps;
  // Older deliveries, all of whose files are missing: more than one part.
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, receipt, records_completed, finished_at)
    SELECT made.id, r.batch_export_id, r.team_id, r.revision, made.id, 'Completed',
      r.data_interval_start - made.back, r.data_interval_end - made.back, r.selection,
      replace(r.receipt, r.delivery_id::text, made.id::text), 4, now()
    FROM batch_export_runs r CROSS JOIN (SELECT gen_random_uuid() AS id,
      make_interval(hours => hour) AS back FROM generate_series(1, ${part_deliveries_max}) hour
    ) made
    WHERE r.batch_export_id = ${one.id} AND r.data_interval_end = '2026-01-01T01:00:00Z'`);
  const left = () =>
    db.rows<{ deliveries_checked: number; position: unknown }>(sql`
      SELECT deliveries_checked, position FROM batch_export_verifications
      WHERE batch_export_id = ${one.id} AND finished_at IS NULL`);
  const paused = async () =>
    (await db.row<{ paused: any; cycles: number }>(sql`SELECT paused_cycle AS paused, cycles
      FROM batch_export_watches WHERE batch_export_id = ${one.id}`))!;
  await lookAt(exporting.harness.deps, one.id, { balance_ms: 0 });
  assert.deepEqual(await left(), [], 'a paused look is not open');
  const { paused: kept, cycles } = await paused();
  assert.deepEqual([kept.deliveries_checked, kept.deliveries, cycles], [200, 203, 0]);
  const due = { is_forced: false };
  await lookAt(exporting.harness.deps, one.id, { ...due, is_worked: false });
  assert.deepEqual(await left(), [{ deliveries_checked: 200, position: kept.position }]);
  await lookAt(exporting.harness.deps, one.id, due);
  assert.deepEqual(await paused(), { paused: null, cycles: 1 });
});

test('a look names a delivery that may be at the destination or not', async () => {
  const one = await exported(toFiles().destination);
  await insertRunRow(exporting.harness, one.id, { status: 'Failed', committing: true, hour: 5 });
  await one.look();
  const [{ kind, differences }, ...others] = (await one.deviations()) as [any];
  assert.deepEqual([kind, differences, others], ['uncertain', 1, []]);
});

test('verified through stands still while the destination does not answer', async () => {
  const { destination } = await toTable();
  const one = await exported(destination);
  await one.look();
  const { deps } = exporting.harness;
  await deps.db.run(sql`UPDATE batch_exports SET destination_config =
    destination_config || '{"port": 1}'::jsonb WHERE id = ${one.id}`);
  await one.look();
  const { verified_through, reason } = await one.watch();
  assert.equal(verified_through, through);
  assert.match(String(reason), /The server does not answer/);
});

test('a person takes the place of a look on schedule', async () => {
  const one = await exported(toFiles().destination);
  const { deps } = exporting.harness;
  await lookAt(deps, one.id, { is_worked: false });
  const open = async () =>
    await deps.db.rows<{ is_scheduled: boolean }>(sql`SELECT is_scheduled
      FROM batch_export_verifications WHERE batch_export_id = ${one.id}`);
  assert.deepEqual(await open(), [{ is_scheduled: true }]);
  assert.equal((await one.get('verifications/')).body.count, 0);
  assert.equal((await one.send('POST', 'verifications/', {})).status, 201);
  assert.deepEqual(await open(), [{ is_scheduled: false }]);
});

test('rows of a delivery that left the ledger are not called those of somebody else', async () => {
  const { table, destination } = await toTable();
  const one = await exported(destination);
  await one.look();
  const { db } = exporting.harness.deps;
  const run = (await db.row<any>(sql`
    SELECT id AS run_id, delivery_id, selection, revision FROM batch_export_runs
    WHERE batch_export_id = ${one.id} ORDER BY data_interval_start LIMIT 1`))!;
  await db.transaction((tx) => forgetDelivered(tx, { id: one.id, revision: run.revision }, run));
  await one.look();
  assert.deepEqual(await one.deviations(), []);
  // More rows than are named count all the same.
  await postgres.pool.query(`INSERT INTO ${table} (uuid, event, team_id, timestamp, inserted_at)
    SELECT gen_random_uuid(), 'theirs', 1, now(), '2031-01-01' FROM generate_series(1, 150)`);
  await one.look();
  const found = await one.deviations();
  assert.deepEqual(
    found.map(({ kind, differences }) => [kind, differences]),
    [['foreign', 150]],
  );
});

test('foreign rows that a person accepted stay accepted, whoever compares', async () => {
  for (const rows of [1, 150]) {
    const { table, destination } = await toTable();
    const one = await exported(destination);
    await postgres.pool.query(`INSERT INTO ${table} (uuid, event, team_id, timestamp, inserted_at)
      SELECT gen_random_uuid(), 'theirs', 1, now(), '2031-01-01' FROM generate_series(1, ${rows})`);
    const verify = async () => {
      assert.equal((await one.send('POST', 'verifications/', {})).status, 201);
      await workVerifications(exporting.harness.deps.engine, AbortSignal.timeout(60_000));
    };
    const listed = async () => (await one.get('deviations/')).body.results as Record<string, any>[];
    await verify();
    const [found] = await listed();
    assert.deepEqual([found!['kind'], found!['differences']], ['foreign', rows]);
    const path = `deviations/${found!['id']}/accept/`;
    assert.equal((await one.send('POST', path, { reason: 'Ours' })).status, 200);
    for (const compare of [one.look, verify, one.look]) {
      await compare();
      const [{ state, accepted_reason }, ...others] = (await listed()) as [any];
      assert.deepEqual([state, accepted_reason, others], ['accepted', 'Ours', []]);
    }
  }
});

test('a place that keeps no rows is never looked at, and says why', async () => {
  const one = await exported({ type: 'NoOp', config: {} });
  await one.look();
  const { is_verifiable, reason, verified_through } = await one.watch();
  assert.deepEqual(
    [is_verifiable, reason, verified_through],
    [false, 'This destination keeps no rows, so there is nothing to verify.', null],
  );
  // A verification by a person leaves the reason where it is.
  await one.send('POST', 'verifications/', {});
  await workVerifications(exporting.harness.deps.engine, new AbortController().signal);
  assert.deepEqual((await one.watch())['reason'], reason);
});

test('the command says how many rows it has read', async (t) => {
  const home = await exporting.harness.newOrganization();
  const { destination } = await toTable();
  const events = Array.from({ length: 600 }, (_, n) => ({
    event: `event ${n}`,
    at: '2026-01-01T00:10:00Z',
  }));
  await exporting.insert(home, events);
  const { id } = await exporting.scheduled(home, { destination }, 1);
  await exporting.runAll(id);
  const now = performance.now.bind(performance);
  let passed_ms = 0;
  t.mock.method(performance, 'now', () => now() + (passed_ms += 20_000));
  const said: string[] = [];
  await verifyExports(exporting.harness.deps.engine, id, (line) => said.push(line));
  assert.deepEqual(said, [`Nightly (${id}): 1,000 rows of about 1,200 read on both sides.`]);
});
