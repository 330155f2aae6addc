import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../../test/harness.ts';
import { openTestClock } from '../../../../test/factories/people/people.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { sweepWarnings } from './store.ts';
import { sharedWarnings } from './warnings.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const clock = openTestClock();
const harness = aroundTests(() => openHarness({ clickhouse: false, deps: { clock } }));

type Row = { hour: string; reason: string; events: number; last_at: string; examples: any[] };
const stored = (team_id: number) =>
  harness.deps.db.rows<Row>(sql`SELECT hour, reason, events, last_at, examples
    FROM ingestion_warnings WHERE team_id = ${team_id} ORDER BY hour, reason`);

test('a thousand warnings are one statement, with counts and a few examples each', async () => {
  const { project } = await harness.newOrganization();
  // Others use the database of the harness, now and then.
  let statements = 0;
  const { db: shared } = harness.deps;
  const run: Database['run'] = (statement) => ((statements += 1), shared.run(statement));
  const warnings = sharedWarnings({ ...harness.deps, db: { ...shared, run } });
  for (let at = 0; at < 1_000; at += 1)
    warnings.note({
      team_id: project.id,
      reason: at % 10 === 0 ? 'timestamp_ignored' : 'duplicate',
      example: { from: 'posthog', event: `e${at}`, sent: 'x\0'.repeat(200) },
      events: 2,
    });
  await warnings.store();
  assert.equal(statements, 1);
  const rows = await stored(project.id);
  assert.deepEqual(
    rows.map(({ reason, events }) => [reason, events]),
    [
      ['duplicate', 1800],
      ['timestamp_ignored', 200],
    ],
  );
  const [{ at, ...first }] = rows[1]!.examples;
  assert.equal(at, rows[1]!.last_at);
  assert.deepEqual(first, {
    from: 'posthog',
    event: 'e0',
    sent: `${'x\uFFFD'.repeat(100)}…`,
  });
  assert.equal(rows[0]!.examples.length, 5);
});

test('later ones are added to those of their hour, with the newest examples', async () => {
  const { project } = await harness.newOrganization();
  const warnings = sharedWarnings(harness.deps);
  const note = (event: string) =>
    warnings.note({ team_id: project.id, reason: 'event_invalid', example: { event } });
  for (const event of ['a', 'b', 'c', 'd']) note(event);
  await warnings.store();
  note('e');
  note('f');
  await warnings.store();
  clock.pass(3_600_000);
  note('g');
  await warnings.store();
  assert.deepEqual(
    (await stored(project.id)).map(({ events, examples }) => [
      events,
      examples.map(({ event }) => event).join(''),
    ]),
    [
      [6, 'efabc'],
      [1, 'g'],
    ],
  );
  const hour_began = clock.now() - (clock.now() % 3_600_000);
  await sweepWarnings(harness.deps.db, hour_began + 90 * 86_400_000);
  assert.equal((await stored(project.id)).length, 1);
});

test('a deleted project does not stop the counts of others', async () => {
  const [gone, here] = [await harness.newOrganization(), await harness.newOrganization()];
  const { db } = harness.deps;
  const warnings = sharedWarnings(harness.deps);
  await db.run(sql`DELETE FROM projects WHERE id = ${gone.project.id}`);
  for (const { project } of [gone, here])
    warnings.note({ team_id: project.id, reason: 'event_refused', example: {} });
  await warnings.store();
  assert.equal((await stored(here.project.id))[0]!.events, 1);
});

test('warnings that could not be stored are stored later, once', async () => {
  const { project } = await harness.newOrganization();
  const { db } = harness.deps;
  const warnings = sharedWarnings(harness.deps);
  await db.text('ALTER TABLE ingestion_warnings RENAME TO away');
  warnings.note({ team_id: project.id, reason: 'uuid_replaced', example: { event: 'a' } });
  await warnings.store();
  warnings.note({ team_id: project.id, reason: 'uuid_replaced', example: { event: 'b' } });
  await db.text('ALTER TABLE away RENAME TO ingestion_warnings');
  await warnings.store();
  assert.deepEqual(
    (await stored(project.id)).map(({ events, examples }) => [events, examples.length]),
    [[2, 2]],
  );
});
