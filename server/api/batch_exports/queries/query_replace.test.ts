import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { foundAt, right } from '../../../../test/factories/batch_exports/refusing_tables.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { readFacts } from '../../../engine/privacy/retention/facts.ts';
import { decide, proves } from '../../../engine/privacy/retention/decide.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const query = `SELECT event, count() AS n FROM events WHERE event != 'noise' GROUP BY event`;
const at = (hour: number, event: string, minute = 10) => ({
  event,
  at: `2026-01-01T0${hour}:${minute}:00.000000Z`,
});

async function placeOf() {
  const config = await postgres.freshConfig();
  return { destination: { type: 'Postgres', config }, table: `${config.schema}.events` };
}

async function rowsOf(table: string): Promise<string[]> {
  const { rows } = await postgres.pool.query<{ event: string; n: string }>(
    `SELECT event, n FROM ${table} ORDER BY event`,
  );
  return rows.map(({ event, n }) => `${event} ${n}`);
}

async function receiptsOf(table: string): Promise<{ run_id: string; generation: string }[]> {
  const { rows } = await postgres.pool.query<{ manifest: string }>(
    `SELECT manifest FROM ${table.replace('events', 'sluice_receipts')}`,
  );
  return rows.map(({ manifest }) => JSON.parse(manifest));
}

const ends = (runs: { status: string; error_code: string | null }[]) =>
  runs.map(({ status, error_code }) => [status, error_code]);

test('each run writes all rows as of its end, and older runs are not needed', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [at(0, 'a'), at(0, 'b'), at(1, 'a'), at(2, 'a'), at(2, 'c')]);
  const { destination, table } = await placeOf();
  const body = { mode: 'replace', custom_query: query, destination };
  const { id, get, send } = await exporting.scheduled(home, body, 1);
  await exporting.runAll(id);
  assert.deepEqual(await rowsOf(table), ['a 1', 'b 1']);
  assert.deepEqual(await foundAt(exporting, id), right);

  await exporting.extend(id, 3);
  const runs = await exporting.runAll(id);
  const superseded = ['Cancelled', 'superseded'];
  assert.deepEqual(ends(runs), [['Completed', null], superseded, ['Completed', null]]);
  assert.deepEqual(await rowsOf(table), ['a 3', 'b 1', 'c 1']);
  const [receipt, ...others] = await receiptsOf(table);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [receipt!.run_id, receipt!.generation],
    [runs[2]!.id, '2026-01-01T03:00:00.000Z'],
  );
  const generations = await exporting.harness.deps.db.rows<{ generation: string | null }>(sql`
    SELECT generation FROM batch_export_runs WHERE batch_export_id = ${id}
    ORDER BY data_interval_start`);
  assert.deepEqual(
    generations.map(({ generation }) => generation),
    ['replaced', null, 'stands'],
  );
  // The comparison is with the newest generation alone.
  assert.deepEqual(await foundAt(exporting, id), right);
  const slots = await get('slots/?after=2026-01-01T00:00:00Z&before=2026-01-01T03:00:00Z');
  assert.deepEqual(
    slots.body.ranges.map(({ state }: { state: string }) => state),
    ['delivered', 'delivered', 'delivered'],
    slots.text,
  );
  const retried = await send('POST', `runs/${runs[1]!.id}/retry/`);
  assert.equal(retried.status, 409, retried.text);
});

test('a run without rows fails and leaves the table, unless the export allows it', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [at(0, 'a'), at(0, 'noise')]);
  const { destination, table } = await placeOf();
  const body = { mode: 'replace', custom_query: query, destination };
  const { id, send } = await exporting.scheduled(home, body, 1);
  await exporting.runAll(id);
  const emptying = query.replace("'noise'", "'noise' AND event != 'a'");
  const changed = await send('PATCH', '', { custom_query: emptying });
  assert.equal(changed.status, 200, changed.text);
  await exporting.extend(id, 2);
  const [, failed] = await exporting.runAll(id);
  assert.deepEqual(ends([failed!]), [['Failed', 'empty_result']]);
  assert.match(failed!.latest_error!, /allow_empty/);
  assert.deepEqual(await rowsOf(table), ['a 1']);

  // The field says nothing about the rows: no new revision begins.
  const allowed = await send('PATCH', '', { allow_empty: true });
  assert.deepEqual([allowed.status, allowed.body.allow_empty], [200, true], allowed.text);
  const retried = await send('POST', `runs/${failed!.id}/retry/`);
  assert.equal(retried.status, 200, retried.text);
  const runs = await exporting.runAll(id);
  assert.equal(runs.at(-1)!.status, 'Completed', runs.at(-1)!.latest_error ?? '');
  assert.deepEqual(await rowsOf(table), []);
  assert.deepEqual(await foundAt(exporting, id), right);
});

test('persons are written as they are, without those that were deleted', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const [ada, bob] = ['ada', 'bob'].map((distinct_id) => ({
    distinct_id,
    at: '2026-01-01T00:10:00.000000Z',
    version: 1,
  }));
  await exporting.insert(home, [], [ada!, bob!, { ...ada!, version: 2 }]);
  const { destination, table } = await placeOf();
  const body = { mode: 'replace', model: 'persons', destination };
  const { id } = await exporting.scheduled(home, body, 1);
  await exporting.runAll(id);
  const held = async () =>
    (await postgres.pool.query(`SELECT distinct_id, person_version::int FROM ${table} ORDER BY 1`))
      .rows;
  assert.deepEqual(await held(), [
    { distinct_id: 'ada', person_version: 2 },
    { distinct_id: 'bob', person_version: 1 },
  ]);
  await harness.deps.clickhouse.command({
    query: `INSERT INTO persons SELECT * REPLACE (3 AS person_version, 1 AS is_deleted,
      toDateTime64('2026-01-01 01:10:00', 6, 'UTC') AS inserted_at) FROM persons
      WHERE team_id = ${home.project.id} AND distinct_id = 'bob'`,
  });
  await exporting.extend(id, 2);
  await exporting.runAll(id);
  assert.deepEqual(await held(), [{ distinct_id: 'ada', person_version: 2 }]);
  assert.deepEqual(await foundAt(exporting, id), right);
});

test('a backfill is refused, and a run now writes the whole table', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [at(0, 'a'), at(1, 'b')]);
  const { destination, table } = await placeOf();
  const body = { mode: 'replace', custom_query: query, destination };
  const { id, send } = await exporting.scheduled(home, body, 1);
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T01:00:00Z' };
  const refused = await send('POST', 'backfill/', range);
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.body.detail, /run_now/);
  await exporting.extend(id, 9);
  const begun = await send('POST', 'run_now/');
  assert.equal(begun.status, 200, begun.text);
  assert.equal(begun.body.backfill.runs, 1);
  await exporting.advance(id, begun.body.backfill.id);
  assert.deepEqual(await rowsOf(table), ['a 1', 'b 1']);
  assert.deepEqual(await foundAt(exporting, id), right);
});

test('another mode begins a revision, and its first run replaces what was appended', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [at(0, 'a'), at(1, 'a')]);
  const { destination, table } = await placeOf();
  const { id, send, get } = await exporting.scheduled(
    home,
    { mode: 'append', custom_query: query, destination },
    2,
  );
  await exporting.runAll(id);
  assert.deepEqual(await rowsOf(table), ['a 1', 'a 1']);
  const changed = await send('PATCH', '', { mode: 'replace' });
  assert.equal(changed.status, 200, changed.text);
  await exporting.extend(id, 3);
  await exporting.runAll(id);
  assert.deepEqual(await rowsOf(table), ['a 2']);
  assert.equal((await receiptsOf(table)).length, 1);
  assert.deepEqual((await get('earlier_deliveries/')).body, { ranges: [] });
});

test('an event is found in the newest run, and the table is no proof for retention', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  await exporting.insert(home, [at(0, 'a')]);
  const { destination } = await placeOf();
  const { id } = await exporting.scheduled(home, { mode: 'replace', destination }, 1);
  await exporting.runAll(id);
  await exporting.extend(id, 2);
  const [, newest] = await exporting.runAll(id);
  const url = `/api/projects/${home.project.id}/find/?distinct_id=d&day=2026-01-01`;
  const found = await home.ask('GET', url);
  const [shown] = found.body.records[0].exports;
  assert.deepEqual([shown.state, shown.run], ['delivered', newest!.id], found.text);
  const facts = await readFacts(harness.deps.db, home.project.id);
  const [one] = facts.exports;
  assert.deepEqual([facts.exports.length, proves(one!)], [1, false]);
  const now = Date.now();
  const settings = { retention: 'until_delivered', retention_days: 1 } as never;
  const decided = decide(settings, facts, new Map(), { now, settled: now });
  assert.deepEqual(decided.events, []);
});

test('more rows than a run may copy are refused before anything is written', async () => {
  const { requireReplacement, requireReplacedBytes } =
    await import('../../../engine/exports/delivery/replacing.ts');
  const attempt = (allow_empty: boolean) =>
    ({
      run: { replaces: null, write_rule: { mode: 'replace', allow_empty } },
      delivery: { generation: '2026-01-01T01:00:00.000Z' },
    }) as never;
  const code = (expected: string) => (error: { code?: string; message?: string }) =>
    error.code === expected && /20,000,000 rows and 20,000,000,000 bytes/.test(error.message!);
  assert.throws(() => requireReplacement(attempt(false), 20_000_001), code('replace_too_large'));
  assert.throws(
    () => requireReplacedBytes({ generation: 'x' } as never, 20_000_000_001),
    code('replace_too_large'),
  );
  requireReplacement(attempt(true), 0);
  assert.throws(() => requireReplacement(attempt(false), 0), { code: 'empty_result' });
});
