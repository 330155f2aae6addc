import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyExports } from '../../server/engine/exports/verification/verify_exports.ts';
import { aroundTests } from '../around_tests.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { openDeliveringHarness } from '../factories/batch_exports/delivering_harness.ts';
import { erasing } from '../factories/events/erasures.ts';
import { deliverNow } from '../made_of_events/deliver_now.ts';
import { openPostgresServer } from '../servers/databases/postgres_destination.ts';

const world = aroundTests(openDeliveringHarness, (opened) => opened.startOnce());
const postgres = aroundTests(openPostgresServer);
const { ask, send, work } = erasing(() => world);

const start = Date.UTC(2026, 0, 5, 8);
/** An event of a session, so many minutes after its start. */
const event = (session_id: string, minute: number, more: object = {}) => ({
  event: '$pageview',
  distinct_id: 'ada',
  timestamp: new Date(start + minute * 60_000).toISOString(),
  ...more,
  properties: {
    $session_id: session_id,
    $current_url: `https://shop.example/${minute}`,
    ...(more as { properties?: object }).properties,
  },
});

async function withExport() {
  const home = await world.harness.newOrganization();
  const config = { ...(await postgres.freshConfig()), table_name: 'sessions' };
  const destination = { type: 'Postgres', config };
  const { id } = await newExport(home, { model: 'sessions', destination });
  const rows = async (columns: string) => {
    const found = await postgres.pool.query<Record<string, unknown>>(
      `SELECT ${columns} FROM "${config.schema}".sessions ORDER BY session_id`,
    );
    return found.rows.map((row) => Object.values(row));
  };
  const findings = () => verifyExports(world.harness.deps.engine, id as string);
  return { home, id: id as string, rows, findings };
}

const counts =
  'session_id, event_count::int, pageview_count::int, session_duration::int, is_bounce';

test('a late event in the middle of a long session arrives in the table', async () => {
  const { home, id, rows, findings } = await withExport();
  const [first] = [event('long', 0, { properties: { utm_source: 'news', utm_medium: 'email' } })];
  const uuid = crypto.randomUUID();
  await send(home, [
    { ...first, uuid },
    event('long', 25 * 60, { event: 'paid' }),
    event('short', 3),
    { event: 'of no session', distinct_id: 'ada' },
    event('skewed', 90 * 24 * 60, { distinct_id: 'bob' }),
    event('skewed', -90 * 24 * 60, { distinct_id: 'bob', event: '$autocapture' }),
  ]);
  await deliverNow(home, id);
  assert.deepEqual(await rows(counts), [
    ['long', 2, 1, 90_000, false],
    ['short', 1, 1, 0, true],
    ['skewed', 2, 1, 180 * 86_400, false],
  ]);
  const versions = await rows('session_version::text');
  await send(home, [{ ...first, uuid }, event('long', 60, { distinct_id: 'eve' })]);
  await deliverNow(home, id);
  assert.deepEqual(await rows(counts), [
    ['long', 3, 2, 90_000, false],
    ['short', 1, 1, 0, true],
    ['skewed', 2, 1, 180 * 86_400, false],
  ]);
  const after = await rows('session_version::text');
  assert.ok(BigInt(String(after[0])) > BigInt(String(versions[0])));
  assert.deepEqual(after.slice(1), versions.slice(1));
  assert.deepEqual(
    (await rows('entry_current_url, exit_current_url, entry_utm_source, channel_type'))[0],
    ['https://shop.example/0', 'https://shop.example/60', 'news', 'Email'],
  );
  const [finding] = await findings();
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
  const { body } = await ask(home, 'GET', 'find/?session_id=long');
  assert.deepEqual(
    body.records.map((record: { exports: { state: string }[] }) => record.exports[0]!.state),
    ['delivered', 'delivered'],
  );
});

test('a session loses an erased person, and one that has nothing else is deleted', async () => {
  const { home, id, rows, findings } = await withExport();
  await send(home, [
    event('shared', 0, { distinct_id: 'visitor' }),
    event('shared', 5, { distinct_id: 'ada' }),
    event('whole', 1, { distinct_id: 'visitor' }),
    event('other', 2, { distinct_id: 'bob' }),
  ]);
  await deliverNow(home, id);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['visitor'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  assert.deepEqual(await rows('session_id'), [['other']]);
  await deliverNow(home, id);
  assert.deepEqual(await rows(`${counts}, distinct_id, is_deleted`), [
    ['other', 1, 1, 0, true, 'bob', false],
    ['shared', 1, 1, 0, true, 'ada', false],
    ['whole', 0, 0, null, null, null, true],
  ]);
  const [finding] = await findings();
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
});

test('a person that is merged while the session goes on is the one of its last event', async () => {
  const { home, id, rows } = await withExport();
  await send(home, [event('one', 0, { distinct_id: 'anonymous-7' })]);
  await send(home, [
    event('one', 1, {
      event: '$identify',
      distinct_id: 'ada@x.org',
      properties: { $anon_distinct_id: 'anonymous-7' },
    }),
  ]);
  await deliverNow(home, id);
  const [person] = await world.harness.deps.clickhouse.rows<{ person_id: string }>({
    query: `SELECT person_id FROM person_distinct_ids WHERE team_id = ${home.project.id}
      AND distinct_id = 'ada@x.org'`,
  });
  assert.deepEqual(await rows('distinct_id, person_id'), [['ada@x.org', person!.person_id]]);
});
