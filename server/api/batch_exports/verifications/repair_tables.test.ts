import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { mariaDbMissing, openMariaDb } from '../../../../test/servers/databases/mariadb_server.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { workVerifications } from '../../../engine/exports/verification/work.ts';
import type { VerificationFinding } from './schema.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

type Rows = Record<string, unknown>[];
/** A table of a destination: its name, and a statement to it. */
type Table = { name: string; destination: object; run(text: string): Promise<Rows> };

async function inPostgres(): Promise<Table> {
  const config = await postgres.freshConfig();
  return {
    name: `${config.schema}.events`,
    destination: { type: 'Postgres', config },
    run: async (text) => (await postgres.pool.query<Rows[number]>(text)).rows,
  };
}

/** An hourly export of two hours with four events each, delivered. */
async function exported({ destination }: Table) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: 8 }, (_, n) => ({
      event: `event ${n}`,
      at: `2026-01-01T0${Math.floor(n / 4)}:1${n % 4}:00.123456Z`,
      properties: { n },
    })),
  );
  const made = await exporting.scheduled(home, { name: 'repaired', destination }, 2);
  await exporting.runAll(made.id);
  return { home, ...made };
}

type Exported = Awaited<ReturnType<typeof exported>>;

async function verified({ get, send }: Exported) {
  const { body } = await send('POST', 'verifications/', {});
  await workVerifications(exporting.harness.deps.engine, new AbortController().signal);
  const { body: page } = await get(`verifications/${body.id}/findings/`);
  const findings = page.results as VerificationFinding[];
  return { id: body.id as string, findings, kinds: findings.map(({ kind }) => kind).toSorted() };
}

/** Repairs the delivery of the first finding that has one; gives the run. */
async function repaired(one: Exported) {
  const { id, findings } = await verified(one);
  const delivery = findings.find((finding) => finding.delivery !== null)!.delivery!.id;
  const { body } = await one.send('POST', `verifications/${id}/repair/`, { delivery });
  assert.deepEqual([body.action, body.backfill], ['rewrite', null]);
  await exporting.runAll(one.id);
  return (await one.get(`runs/${body.run}/`)).body;
}

async function damagedAndRepaired(table: Table): Promise<void> {
  const { name, run } = table;
  const one = await exported(table);
  const all = () => run(`SELECT * FROM ${name} ORDER BY uuid`);
  const before = await all();
  assert.equal(before.length, 8);
  await run(`INSERT INTO ${name} SELECT * FROM ${name} WHERE event = 'event 4'`);
  await run(`DELETE FROM ${name} WHERE event = 'event 5'`);
  await run(`UPDATE ${name} SET distinct_id = 'changed' WHERE event = 'event 6'`);
  // Rows of somebody else stay, also within the interval.
  await run(`INSERT INTO ${name} (uuid, event, properties, distinct_id, team_id, timestamp,
      inserted_at)
    SELECT 'a0000000-0000-4000-8000-000000000000', 'theirs', '{}', 'x', team_id, timestamp,
      inserted_at
    FROM ${name} WHERE event = 'event 7'`);
  assert.deepEqual((await verified(one)).kinds, ['changed', 'doubled', 'foreign', 'missing']);
  const repair = await repaired(one);
  assert.deepEqual([repair.status, repair.latest_error], ['Completed', null]);
  assert.equal(repair.repeats, 'repair');
  assert.deepEqual((await verified(one)).kinds, ['foreign']);
  await run(`DELETE FROM ${name} WHERE event = 'theirs'`);
  assert.deepEqual(await all(), before);
  assert.deepEqual((await verified(one)).kinds, []);
}

test('a repair in a table of PostgreSQL takes out what is left, and doubles nothing', async () => {
  await damagedAndRepaired(await inPostgres());
});

test('a repair in a table of MySQL does so too', { skip: mariaDbMissing }, async (t) => {
  const server = await openMariaDb();
  t.after(() => server.close());
  const admin = await server.admin();
  t.after(() => admin.end());
  await admin.query('CREATE DATABASE place');
  const { user, password, port } = server;
  const config = {
    user,
    password,
    port,
    host: '127.0.0.1',
    database: 'place',
    table_name: 'mine',
    has_self_signed_cert: true,
  };
  const run = async (text: string) => (await admin.query(text))[0] as Rows;
  await damagedAndRepaired({ name: 'place.mine', destination: { type: 'MySQL', config }, run });
});

test('a repair also writes a delivery whose receipt is gone', async () => {
  const table = await inPostgres();
  const one = await exported(table);
  await table.run(`DELETE FROM ${table.name} WHERE event = 'event 5'`);
  await table.run(`DELETE FROM ${table.name.replace('.events', '.sluice_receipts')}`);
  const { id, findings } = await verified(one);
  const deliveries = new Set(findings.flatMap(({ delivery }) => delivery?.id ?? []));
  assert.equal(deliveries.size, 2);
  for (const delivery of deliveries)
    await one.send('POST', `verifications/${id}/repair/`, { delivery });
  await exporting.runAll(one.id);
  assert.deepEqual((await verified(one)).kinds, []);
  const [counted] = await table.run(`SELECT count(*) AS rows FROM ${table.name}`);
  assert.equal(Number(counted!['rows']), 8);
});

test('a repair changes nothing in a table of two exports', async () => {
  const table = await inPostgres();
  const one = await exported(table);
  const other = await exporting.scheduled(
    one.home,
    { name: 'other', destination: table.destination },
    2,
  );
  await exporting.runAll(other.id);
  await table.run(`DELETE FROM ${table.name} WHERE event = 'event 5'`);
  const { status, error_code, latest_error } = await repaired(one);
  assert.deepEqual([status, error_code], ['Failed', 'table_unsuitable']);
  assert.match(latest_error, /holds rows of another export too/);
  const [counted] = await table.run(`SELECT count(*) AS rows FROM ${table.name}`);
  assert.equal(Number(counted!['rows']), 14);
});
