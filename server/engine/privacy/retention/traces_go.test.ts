import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { retainRows } from './look.ts';

const exporting = aroundTests(openQueryHarness);

test('the trace of a destination goes with its events, and that of others stays', async () => {
  const home = await exporting.harness.newOrganization();
  const { clickhouse, db, engine } = exporting.harness.deps;
  await exporting.insert(home, [
    { event: 'old', at: '2026-01-01T00:00:00Z' },
    { event: 'young', at: new Date().toISOString() },
  ]);
  const of = { query_params: { team_id: home.project.id } };
  const events = await clickhouse.rows<{ uuid: string; event: string; stored: string }>({
    query: `SELECT uuid, event, toString(inserted_at) AS stored FROM events
      WHERE team_id = {team_id:Int64}`,
    ...of,
  });
  const common = { team_id: home.project.id, plugin_config_id: 7, inserted_at: events[0]!.stored };
  const placed = ({ event, stored }: (typeof events)[number]) => ({
    ...common,
    event,
    event_inserted_at: stored,
    event_timestamp: stored,
  });
  await clickhouse.insert({
    table: 'tool_exchanges',
    values: events.map((one) => ({ ...placed(one), id: one.uuid, exchanges: '[]' })),
    format: 'JSONEachRow',
  });
  await clickhouse.insert({
    table: 'tool_sends',
    values: events.map((one) => ({
      ...placed(one),
      event_uuid: one.uuid,
      mapping: 'onEvent',
      outcome: 'sent',
      exchange_id: one.uuid,
      exchange_at: one.stored,
    })),
    format: 'JSONEachRow',
  });
  const path = `/api/projects/${home.project.id}/`;
  const body = { retention: 'days', retention_days: 7 };
  const changed = await exporting.harness.request('PATCH', path, { key: home.key, body });
  assert.equal(changed.status, 200, changed.text);
  await db.run(sql`UPDATE projects SET updated_at = now() - interval '2 hours'
    WHERE id = ${home.project.id}`);
  assert.equal(await retainRows(engine, new AbortController().signal), 1);
  for (const table of ['tool_sends', 'tool_exchanges']) {
    const left = await clickhouse.rows<{ event: string }>({
      query: `SELECT event FROM ${table} WHERE team_id = {team_id:Int64}`,
      ...of,
    });
    assert.deepEqual(left, [{ event: 'young' }], table);
  }
});
