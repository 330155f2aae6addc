// Length: each setting of retention, and what keeps rows from it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { listRemovals } from '../../../cli/removals.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { retainRows } from './look.ts';
import { removeDecided } from './remove.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const never = new AbortController().signal;
const at = (hour: number, minute: number) =>
  `2026-01-01T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`;

/** Thirty events of three hours of 1 January, or of so many, and one of this day. */
async function withOldEvents(hours = 3): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  const old = Array.from({ length: 30 }, (_, n) => ({
    event: n % hours === 0 ? 'early' : 'other',
    at: at(n % hours, n),
    properties: { n },
  }));
  await exporting.insert(home, [...old, { event: 'young', at: new Date().toISOString() }]);
  return home;
}

const request = (home: TestOrganization, method: string, path: string, body?: unknown) =>
  exporting.harness.request(method, `/api/projects/${home.project.id}/${path}`, {
    key: home.key,
    ...(body === undefined ? {} : { body }),
  });

/** Sets what the project keeps, and lets the hour pass in which nothing is removed. */
async function keep(home: TestOrganization, retention: string, retention_days = 30): Promise<void> {
  const changed = await request(home, 'PATCH', '', { retention, retention_days });
  assert.equal(changed.status, 200);
  await exporting.harness.deps.db.run(sql`UPDATE projects
    SET updated_at = now() - interval '2 hours', retention_looked_at = NULL
    WHERE id = ${home.project.id}`);
}

const retain = () => retainRows(exporting.harness.deps.engine, never);

async function namesOf(home: TestOrganization): Promise<Record<string, number>> {
  const rows = await exporting.harness.deps.clickhouse.rows<{ event: string; events: number }>({
    query: `SELECT event, count() AS events FROM events WHERE team_id = {team_id:Int64}
      GROUP BY event ORDER BY event`,
    query_params: { team_id: home.project.id },
  });
  return Object.fromEntries(rows.map(({ event, events }) => [event, events]));
}

async function exported(home: TestOrganization, config: object = {}, hours = 3, isTable = false) {
  const place = isTable ? await postgres.freshConfig() : { prefix: crypto.randomUUID() };
  const destination = { type: isTable ? 'Postgres' : 'File', config: { ...place, ...config } };
  const created = await exporting.scheduled(home, { destination }, hours);
  await exporting.runAll(created.id);
  return created;
}

test('days: older rows are announced, removed, and listed in the log of removals', async () => {
  const home = await withOldEvents();
  const stays = await withOldEvents();
  const forecast = await request(home, 'GET', 'retention/?retention=days&retention_days=7');
  assert.equal(forecast.body.events.rows, 30);
  assert.deepEqual(forecast.body.removals, []);
  await keep(home, 'days', 7);
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { young: 1 });
  assert.deepEqual(await namesOf(stays), { early: 10, other: 20, young: 1 });
  const { body } = await request(home, 'GET', 'retention/');
  assert.equal(body.events.rows, 0);
  assert.equal(body.removals[0].events, 30);
  assert.equal(body.removals[0].removed_before, forecast.body.removes_before);
  assert.match(await listRemovals(exporting.harness.deps), /by retention \(days\) .* 30 events/);
  assert.equal(await retain(), 0, 'nothing is looked at twice in six hours');
});

test('rows that fill a month are removed with it, for several projects together', async () => {
  const homes = [
    await exporting.harness.newOrganization(),
    await exporting.harness.newOrganization(),
  ] as const;
  const mutations = async () => {
    return exporting.harness.deps.clickhouse.rows({
      query: 'SELECT count() AS n FROM system.mutations WHERE database = currentDatabase()',
    });
  };
  for (const [index, home] of homes.entries()) {
    const shared = { event: 'shared', at: '2025-03-05T00:00:00Z' };
    const own = { event: 'own', at: `2025-0${index + 4}-05T00:00:00Z` };
    await exporting.insert(home, [shared, own]);
    await exporting.insert(
      home,
      [],
      [
        { distinct_id: 'ada', version: 1, at: shared.at },
        { distinct_id: 'ada', version: 2, at: own.at },
      ],
    );
    await keep(home, 'days', 7);
  }
  const before = await mutations();
  assert.equal(await retain(), 2);
  assert.deepEqual(await mutations(), before);
  for (const home of homes) assert.deepEqual(await namesOf(home), {});
});

test('a change of mind within the hour removes nothing', async () => {
  const home = await withOldEvents();
  await request(home, 'PATCH', '', { retention: 'days', retention_days: 1 });
  assert.equal(await retain(), 0);
  assert.deepEqual(await namesOf(home), { early: 10, other: 20, young: 1 });
});

test('until delivered: what a signed receipt proves goes, and verify still holds', async () => {
  const home = await withOldEvents();
  const { id } = await exported(home, {}, 3, true);
  const filtered = await exported(home, { include_events: ['early'] });
  await keep(home, 'until_delivered');
  // The receipt of the second hour is not one of this server's.
  const [run] = await exporting.harness.deps.db.rows<{ id: string; receipt: string }>(sql`
    SELECT id, receipt FROM batch_export_runs WHERE batch_export_id = ${id}
    ORDER BY data_interval_start OFFSET 1`);
  const forge = (receipt: string) =>
    exporting.harness.deps.db.run(sql`
    UPDATE batch_export_runs SET receipt = ${receipt} WHERE id = ${run!.id}`);
  await forge(run!.receipt.replace('"version":1', '"version":2'));
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { other: 10, young: 1 }, 'the second hour stays');
  await forge(run!.receipt);
  await keep(home, 'until_delivered');
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { young: 1 });
  for (const one of [id, filtered.id]) {
    const [finding] = await verifyExports(exporting.harness.deps.engine, one);
    assert.deepEqual([finding?.fault, finding?.differences], [null, []]);
    assert.match(finding!.notes.join(), /Retention has removed rows .* last on 20.*digests/);
  }
});

test('until delivered: undelivered and wanted rows stay', async () => {
  const home = await withOldEvents(2);
  const { id } = await exported(home, { include_events: ['early'] }, 2);
  await keep(home, 'until_delivered');
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { other: 15, young: 1 }, 'nobody delivered the others');
  const paused = await exporting.scheduled(home, {
    name: 'paused',
    destination: { type: 'File', config: { prefix: 'paused' } },
    paused: true,
  });
  await exported(home, {}, 2);
  await keep(home, 'until_delivered');
  assert.equal(await retain(), 0);
  const { body } = await request(home, 'GET', 'retention/');
  assert.deepEqual(
    body.kept_by.map((one: { id: string }) => one.id),
    [paused.id],
  );
  await exporting.harness.deps.db.run(sql`UPDATE batch_exports SET deleted_at = now()
    WHERE id = ANY (${[paused.id, id]}::uuid[])`);
  await keep(home, 'until_delivered');
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { young: 1 });
});

test('rows that cannot be counted in time are 503', async (t) => {
  const home = await withOldEvents();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  t.mock.method(AbortSignal, 'timeout', (ms: number) =>
    ms === 30_000 ? AbortSignal.abort() : timeout(ms),
  );
  const answer = await request(home, 'GET', 'retention/?retention=days&retention_days=7');
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '60']);
  assert.match(answer.body.detail, /^The rows are too many to count in one request/);
});

test('until delivered: what an open or failed backfill reads stays', async () => {
  const home = await withOldEvents(2);
  const { id, send } = await exported(home, {}, 2);
  const range = { start_at: at(0, 0), end_at: at(1, 0), by: 'inserted_at', mode: 'all' };
  assert.equal((await send('POST', 'backfill/', range)).status, 200);
  const { db } = exporting.harness.deps;
  const retained = async (status: string, finished_at: string | null) => {
    await db.run(sql`UPDATE batch_export_backfills SET status = ${status},
      finished_at = ${finished_at} WHERE batch_export_id = ${id}`);
    await keep(home, 'until_delivered');
    await retain();
    return namesOf(home);
  };
  const kept = { early: 15, young: 1 };
  assert.deepEqual(await retained('Starting', null), kept);
  assert.deepEqual(await retained('Failed', '2026-02-01Z'), kept);
  assert.deepEqual(await retained('Cancelled', '2026-02-01Z'), { young: 1 });
});

test('a backfill or retry over removed rows is refused, or says so', async () => {
  const home = await withOldEvents(1);
  const { id, get, send } = await exported(home, {}, 1);
  await keep(home, 'days', 7);
  await retain();
  const ask = (by: string, end_at: string) =>
    send('POST', 'backfill/', { start_at: at(0, 0), end_at, by, dry_run: true });
  const refused = await ask('inserted_at', at(3, 0));
  assert.equal(refused.status, 400);
  assert.match(refused.body.detail, /Retention has removed rows .*: take a later range\.$/);
  const told = await ask('timestamp', at(3, 0));
  assert.equal(told.status, 200);
  assert.match(told.body.backfill.detail, /Retention has removed rows ingested before/);
  assert.equal((await ask('inserted_at', new Date().toISOString())).status, 200);
  const [run] = await exporting.harness.deps.db.rows<{ id: string }>(sql`
    UPDATE batch_export_runs SET status = 'Failed', committing_at = NULL
    WHERE batch_export_id = ${id} RETURNING id`);
  await exporting.harness.deps.db.run(sql`DELETE FROM batch_export_ledgers
    WHERE batch_export_id = ${id}`);
  assert.equal((await send('POST', `runs/${run!.id}/retry/`)).status, 200);
  await exporting.runAll(id);
  const lines = JSON.stringify((await get('logs/?limit=100')).body.results);
  assert.equal(lines.match(/Retention has removed rows/g)?.length, 2);
  const found = await request(home, 'GET', `find/?uuid=${crypto.randomUUID()}`);
  assert.match(found.body.detail, /Or it no longer exists: Retention has removed rows/);
});

test('persons keep their latest version and whom they belong to', async () => {
  const home = await exporting.harness.newOrganization();
  const person = (distinct_id: string, version: number, hour: number) => ({
    distinct_id,
    version,
    at: at(hour, version),
  });
  await exporting.insert(
    home,
    [],
    [
      ...[1, 2, 3, 4].map((version) => person('ada', version, 0)),
      person('bob', 1, 1),
      { distinct_id: 'ada', version: 5, at: new Date().toISOString() },
    ],
  );
  await keep(home, 'days', 7);
  assert.equal(await retain(), 1);
  const rows = await exporting.harness.deps.clickhouse.rows<{
    distinct_id: string;
    version: number;
  }>({
    query: `SELECT distinct_id, person_version AS version FROM persons
      WHERE team_id = {team_id:Int64} ORDER BY distinct_id, version`,
    query_params: { team_id: home.project.id },
  });
  // The first version says whom the distinct id belongs to, the fourth is ada as of the cutoff.
  assert.deepEqual(
    rows.map(({ distinct_id, version }) => `${distinct_id} ${version}`),
    ['ada 1', 'ada 4', 'ada 5', 'bob 1'],
  );
});

test('verify finds no fault in persons and in what a query made of removed rows', async () => {
  const home = await withOldEvents();
  const versions = [1, 2, 3].map((version) => ({
    distinct_id: 'ada',
    version,
    at: at(version - 1, version),
  }));
  // The row that replaced bob's second version was never delivered: his delivery is incomplete, and
  // it is the one with the newest ada.
  const bob = [at(1, 1), at(2, 1), at(9, 1)].map((when, index) => ({
    distinct_id: 'bob',
    version: index + 1,
    at: when,
  }));
  await exporting.insert(home, [], [...versions, ...bob]);
  const ids: string[] = [];
  for (const wanted of [
    { model: 'persons' },
    { custom_query: 'SELECT count() AS events FROM events' },
  ]) {
    const config = await postgres.freshConfig();
    const created = await exporting.scheduled(home, {
      name: 'table',
      destination: { type: 'Postgres', config },
      ...wanted,
    });
    const runs = await exporting.runAll(created.id);
    assert.deepEqual([...new Set(runs.map(({ status }) => status))], ['Completed']);
    ids.push(created.id);
  }
  await keep(home, 'days', 7);
  assert.equal(await retain(), 1);
  assert.deepEqual(await namesOf(home), { young: 1 });
  for (const id of ids) {
    const [finding] = await verifyExports(exporting.harness.deps.engine, id);
    assert.deepEqual([finding?.fault, finding?.differences], [null, []]);
    assert.match(finding!.notes.join(), /Retention has removed rows/);
  }
});

test('a process that was killed in the middle is followed by another one', async () => {
  const home = await withOldEvents();
  await keep(home, 'days', 7);
  const { db, engine } = exporting.harness.deps;
  await retain();
  // As it is after a kill: decided, claimed, counted, not all of it removed.
  await exporting.insert(home, [{ event: 'left', at: at(1, 1) }]);
  await db.run(sql`UPDATE retention_removals SET ended_at = NULL, claimed_at = now()
    WHERE team_id = ${home.project.id}`);
  assert.equal(await removeDecided(engine, never), 0, 'the claim holds');
  await db.run(sql`UPDATE retention_removals SET claimed_at = now() - interval '6 minutes'
    WHERE team_id = ${home.project.id}`);
  assert.equal(await removeDecided(engine, never), 1);
  assert.deepEqual(await namesOf(home), { young: 1 });
});
