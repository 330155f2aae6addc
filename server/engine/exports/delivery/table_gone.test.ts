import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';

let world: QueryHarness;
let postgres: PostgresServer;

before(async () => {
  world = await openQueryHarness({ config: { outbound_allow: ['127.0.0.0/8'] } });
  postgres = await openPostgresServer();
});
after(async () => {
  await postgres?.close();
  await world?.close();
});

const at = (hour: number) => `2026-01-01T0${hour}:30:00Z`;

async function withDelivered(mode?: 'merge') {
  const home = await world.harness.newOrganization();
  const event = (hour: number) => ({ event: `e${hour}`, at: at(hour) });
  await world.insert(home, [event(0), event(0), event(1), event(2)]);
  const config = await postgres.freshConfig();
  const destination = { type: 'Postgres', config };
  const rule =
    mode === undefined ? {} : { mode, primary_key: ['uuid'], version_key: ['timestamp'] };
  const created = await world.scheduled(home, { destination, ...rule }, 1);
  await world.runAll(created.id);
  const table = `${config.schema}.${config.table_name ?? 'events'}`;
  const names = async () => {
    const found = await postgres.pool.query<{ event: string }>(
      `SELECT event FROM ${table} ORDER BY 1`,
    );
    return found.rows.map((row) => row.event);
  };
  const health = async () => {
    const { body } = await home.ask(
      'GET',
      `/api/projects/${home.project.id}/overview/?batch_export=${created.id}`,
    );
    return body.results[0].health;
  };
  const notices = () =>
    world.harness.deps.db.rows<{ event: string; data: Record<string, unknown> }>(sql`
      SELECT event, body::jsonb -> 'data' AS data FROM notices
      WHERE batch_export_id = ${created.id} ORDER BY created_at, id`);
  return { home, ...created, table, names, health, notices };
}

for (const mode of [undefined, 'merge'] as const)
  test(`a table that is gone starts the export anew, and no row twice (${mode})`, async () => {
    const made = await withDelivered(mode);
    assert.deepEqual(await made.names(), ['e0', 'e0']);
    await postgres.pool.query(`DROP TABLE ${made.table}`);
    await world.extend(made.id, 3);
    const runs = await world.runAll(made.id);
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['Completed', 'Cancelled', 'Cancelled'],
    );
    assert.match(
      runs[1]!.latest_error!,
      /^The table .+ is gone\. A new revision of the export plans this interval again\.$/,
    );
    const [notice, ...others] = await made.notices();
    assert.deepEqual([notice?.event, others], ['table_gone', []]);
    assert.equal(notice?.data['records_lost'], 2);
    // The same intervals once more, by the new revision.
    await world.runAll(made.id);
    assert.deepEqual(await made.names(), ['e1', 'e2']);
    const lacking = await made.health();
    assert.equal(lacking.code, 'partly_delivered');
    assert.equal(lacking.missing_since_change.rows, 2);

    const { ranges } = (await made.get('earlier_deliveries/')).body;
    assert.equal(ranges.length, 1);
    const { body } = await made.send('POST', 'backfill/', ranges[0]);
    await world.advance(made.id, body.backfill.id);
    assert.deepEqual(await made.names(), ['e0', 'e0', 'e1', 'e2']);
    assert.notEqual((await made.health()).code, 'partly_delivered');
  });

test('a table that had no row of the revision is created again without a word', async () => {
  const made = await withDelivered();
  const changed = await made.send('PATCH', '', {
    custom_query: 'SELECT uuid, event, timestamp, inserted_at FROM events',
  });
  assert.equal(changed.status, 200);
  await postgres.pool.query(`DROP TABLE ${made.table}`);
  await world.extend(made.id, 2);
  await world.runAll(made.id);
  assert.deepEqual(await made.names(), ['e1']);
  assert.deepEqual(await made.notices(), []);
});
