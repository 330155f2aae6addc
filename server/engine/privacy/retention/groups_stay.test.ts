import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { every_event } from '../../model/models/event_filter.ts';
import { groups } from '../../model/models/groups.ts';
import { retainRows } from './look.ts';

const exporting = aroundTests(openQueryHarness);

test('events that a group is made of stay, and no others of it', async () => {
  const home = await exporting.harness.newOrganization();
  const call = (day: number, set: object) => ({
    event: '$groupidentify',
    at: `2025-06-${String(day).padStart(2, '0')}T00:00:00Z`,
    properties: { $group_type: 'company', $group_key: 'acme', $group_set: set, day },
  });
  await exporting.insert(home, [
    call(1, { plan: 'free' }),
    call(2, { plan: 'team', name: 'Acme' }),
    call(3, { plan: 'pro' }),
    call(4, { plan: 'pro' }),
    { ...call(5, {}), properties: { $group_type: 'company', $group_key: '', day: 5 } },
    { event: 'other', at: '2025-06-06T00:00:00Z' },
  ]);
  const { clickhouse, db, engine } = exporting.harness.deps;
  const request = (method: string, path: string, body?: object) =>
    exporting.harness.request(method, `/api/projects/${home.project.id}/${path}`, {
      key: home.key,
      ...(body === undefined ? {} : { body }),
    });
  const everything = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: -Infinity,
    inserted_to: Infinity,
  };
  const { text, parameters } = groups.relation(home.project.id, [everything], every_event);
  const made = () => clickhouse.rows({ query: `SELECT * FROM ${text}`, query_params: parameters });
  const before = await made();
  assert.equal(before.length, 1);
  await request('PATCH', '', { retention: 'days', retention_days: 7 });
  await db.run(sql`UPDATE projects SET updated_at = now() - interval '2 hours'
    WHERE id = ${home.project.id}`);
  assert.equal(await retainRows(engine, new AbortController().signal), 1);
  const left = await clickhouse.rows<{ day: string }>({
    query: `SELECT JSONExtractString(properties, 'day') AS day FROM events
      WHERE team_id = {team_id:Int64} ORDER BY day`,
    query_params: { team_id: home.project.id },
  });
  assert.deepEqual(
    left.map(({ day }) => day),
    ['1', '2', '4'],
  );
  assert.deepEqual(await made(), before);
  const { body } = await request('GET', 'retention/');
  assert.deepEqual([body.events.rows, body.removals[0].events], [0, 3]);
});
