import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../../test/depth.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { advanceBackfills } from '../runs/advance_backfills.ts';
import { startBackfill } from './backfill.ts';
import { claimRun } from '../workers/claims.ts';
import type { Engine } from '../engine.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import { clearBatch, lockForWriting, noteBatch, readState } from '../../ingest/lock.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { undelivered } from '../../model/ledger/ledger.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { beginCommit, releaseDelivery } from '../runs/progress.ts';
import { planDueExports } from '../runs/plan_due_exports.ts';
import { endRun } from '../runs/end_runs.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const hour = 3_600_000;
let engine: Engine;

const harness = aroundTests(openHarness, async (opened) => {
  engine = { ...opened.deps.engine, settle_seconds: 0 };
});

type Row = { id: string; backfill_id: string | null; selection: StoredRectangle[] };

const runsOf = (exportId: string) =>
  harness.deps.db.rows<Row>(
    sql`SELECT id, backfill_id, selection FROM batch_export_runs WHERE batch_export_id = ${exportId}
      ORDER BY created_at, id`,
  );

/**
 * An hourly export of a project with an event whose last full hour has not been planned, and the
 * start of that hour.
 */
async function newLateExport(): Promise<{ home: TestOrganization; id: string; from: number }> {
  const home = await harness.newOrganization();
  const { id } = (await newExport(home)) as { id: string };
  const from = Math.floor(Date.now() / hour) * hour - hour;
  await fillEvents(harness.deps.clickhouse, {
    team_id: home.project.id,
    events: 1,
    from,
    to: from + hour,
  });
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${new Date(from).toISOString()},
      next_run_at = ${new Date(from + hour).toISOString()} WHERE id = ${id}`,
  );
  return { home, id, from };
}

test('many planners at once plan an interval once', async () => {
  for (let round = 0; round < inDepth(2, 5); round += 1) {
    const { id, from } = await newLateExport();
    const planned = await Promise.all(Array.from({ length: 6 }, () => planDueExports(engine)));
    assert.equal(
      planned.reduce((sum, count) => sum + count, 0),
      1,
    );
    const runs = await runsOf(id);
    assert.deepEqual(
      runs.map((run) => run.selection),
      [[{ event_from: null, event_to: null, inserted_from: from, inserted_to: from + hour }]],
    );
  }
});

test('planning waits once for a busy project, for all its exports', async () => {
  const home = await harness.newOrganization();
  const due = new Date(Math.floor(Date.now() / hour) * hour).toISOString();
  for (let number = 0; number < 3; number += 1) await newExport(home, { name: `Due ${number}` });
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${due}::timestamptz - interval '1 hour',
      next_run_at = ${due} WHERE team_id = ${home.project.id}`,
  );
  let attempts = 0;
  const transaction: Engine['db']['transaction'] = (work) => {
    attempts += 1;
    return engine.db.transaction(work);
  };
  await harness.deps.db.transaction(async (tx) => {
    await lockForWriting(tx, home.project.id);
    assert.equal(await planDueExports({ ...engine, db: { ...engine.db, transaction } }), 0);
  });
  assert.equal(attempts, 2, 'once without waiting, with the others, and once with');
  assert.equal(await planDueExports(engine), 3);
});

test('busy backfills do not delay another project', async () => {
  const [busy, other] = [await harness.newOrganization(), await harness.newOrganization()];
  await harness.deps.db.run(sql`
    WITH export AS (
      INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
        planned_until)
      SELECT gen_random_uuid(), ${busy.project.id}, 'Busy ' || number, 'events', 'NoOp', 'hour',
        'UTC', now() FROM generate_series(1, 250) number RETURNING id, team_id
    ), backfill AS (
      INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
        watermark, next_start_at, total_runs, status)
      SELECT gen_random_uuid(), id, 1, 'all', '2026-01-01', '2026-02-01', now(), '2026-01-02', 744,
        'Running' FROM export RETURNING id, batch_export_id
    )
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, backfill_id, delivery_id,
      status, data_interval_start, data_interval_end, selection)
    SELECT gen_random_uuid(), backfill.batch_export_id, ${busy.project.id}, 1, backfill.id,
      gen_random_uuid(), 'Starting', '2026-01-01', '2026-01-02', '[]'
      FROM backfill, generate_series(1, 5)`);
  const { id } = await newExport(other);
  await harness.deps.db.transaction((tx) =>
    startBackfill(tx, id, { from: 0, to: hour, by: 'timestamp', mode: 'missing' }, 0),
  );
  assert.equal(await advanceBackfills(engine), 1);
  assert.equal((await runsOf(id)).length, 1);
});

test('rows left to a backfill are delivered even if the backfill is cancelled', async () => {
  const { id, from } = await newLateExport();
  await harness.deps.db.transaction((tx) =>
    startBackfill(tx, id, { from, to: from + hour, by: 'timestamp', mode: 'missing' }, 0),
  );
  assert.equal(await advanceBackfills(engine), 1);
  assert.equal(await planDueExports(engine), 1);
  const [ofBackfill, scheduled] = await runsOf(id);
  assert.ok(ofBackfill?.backfill_id !== null && scheduled?.backfill_id === null);
  assert.deepEqual(scheduled.selection, [
    { event_from: null, event_to: from, inserted_from: from, inserted_to: from + hour },
    { event_from: from + hour, event_to: null, inserted_from: from, inserted_to: from + hour },
  ]);

  const claimed = await claimRun(engine.db, ofBackfill!.id, randomUUID());
  await endRun(engine, claimed!, {
    status: 'Cancelled',
    code: 'cancelled',
    message: 'The run was cancelled.',
  });
  const madeUp = (await runsOf(id))[2];
  assert.equal(madeUp?.backfill_id, null);
  assert.deepEqual(madeUp.selection, [
    { event_from: from, event_to: from + hour, inserted_from: from, inserted_to: from + hour },
  ]);
  await advanceBackfills(engine);
  const backfill = await harness.deps.db.row<{ status: string }>(
    sql`SELECT status FROM batch_export_backfills WHERE id = ${ofBackfill!.backfill_id}`,
  );
  assert.equal(backfill!.status, 'Cancelled', 'nothing of it failed');
});

/** A scheduled run of an hour that left all of its rows to a backfill's run. */
async function newLeftRuns() {
  const { home, id, from } = await newLateExport();
  await harness.deps.db.transaction((tx) =>
    startBackfill(tx, id, { from, to: from + hour, by: 'timestamp', mode: 'missing' }, 0),
  );
  await advanceBackfills(engine);
  await planDueExports(engine);
  const [ofBackfill, scheduled] = await runsOf(id);
  return { home, id, from, ids: [ofBackfill!.id, scheduled!.id] as const };
}

async function endAs(id: string, status: 'Failed' | 'Cancelled'): Promise<void> {
  const claimed = await claimRun(engine.db, id, randomUUID());
  await endRun(engine, claimed!, { status, code: 'ended', message: 'The run ended.' });
}

test('a run that has failed before the backfill was cancelled is made up for as well', async () => {
  const { id, from, ids } = await newLeftRuns();
  await endAs(ids[1], 'Failed');
  await endAs(ids[0], 'Cancelled');
  const madeUp = (await runsOf(id))[2];
  assert.deepEqual(madeUp?.selection, [
    { event_from: from, event_to: from + hour, inserted_from: from, inserted_to: from + hour },
  ]);
});

test('after both are cancelled no make-up follows, and a retry takes all', async () => {
  const { home, id, from, ids } = await newLeftRuns();
  await endAs(ids[1], 'Cancelled');
  await endAs(ids[0], 'Cancelled');
  assert.equal((await runsOf(id)).length, 2);
  const path = `/api/projects/${home.project.id}/batch_exports/${id}/runs/${ids[1]}/retry/`;
  const { body } = await harness.request('POST', path, { key: home.key });
  const { selection } = (await runsOf(id)).find((run) => run.id === body.id)!;
  assert.deepEqual(selection, [
    { event_from: null, event_to: null, inserted_from: from, inserted_to: from + hour },
  ]);
});

/** Ends a run while the destination was to show it: nobody knows whether it does. */
async function endInDoubt(id: string): Promise<void> {
  const claimed = await claimRun(engine.db, id, randomUUID());
  assert.ok(await beginCommit(engine, claimed!, '{}'));
  await endRun(engine, claimed!, { status: 'Failed', code: 'ended', message: 'No answer came.' });
}

test('later runs leave out the rows that a run in doubt may have delivered', async () => {
  const { id, from } = await newLateExport();
  await planDueExports(engine);
  const [inDoubt] = await runsOf(id);
  await endInDoubt(inDoubt!.id);
  const base = fromStored(inDoubt!.selection);
  const rest = () => engine.db.transaction((tx) => undelivered(tx, id, 1, base));
  assert.deepEqual(await rest(), []);
  await harness.deps.db.transaction((tx) =>
    startBackfill(tx, id, { from, to: from + hour, by: 'inserted_at', mode: 'missing' }, 0),
  );
  await advanceBackfills(engine);
  const selections = (await runsOf(id)).slice(1).map(({ selection }) => selection);
  assert.deepEqual(selections, [[]], 'the run of the backfill is planned, without rows');
  // Known not to be there, it is given back.
  await harness.deps.db.transaction((tx) =>
    releaseDelivery(tx, { batch_export_id: id, delivery_id: inDoubt!.id }),
  );
  assert.deepEqual(await rest(), base);
});

test('a run that ended in doubt is not made up for: it may have delivered', async () => {
  const { home, id, ids } = await newLeftRuns();
  await endInDoubt(ids[0]);
  assert.equal((await runsOf(id)).length, 2);
  // Its retry is the same delivery, and the one way in which these rows come again.
  const path = `/api/projects/${home.project.id}/batch_exports/${id}/runs/${ids[0]}/retry/`;
  const { body } = await harness.request('POST', path, { key: home.key });
  assert.equal(body.status, 'Starting', JSON.stringify(body));
  const rows = await harness.deps.db.rows<{ delivery_id: string }>(
    sql`SELECT delivery_id FROM batch_export_runs WHERE id = ANY (${[ids[0], body.id]}::uuid[])`,
  );
  assert.equal(rows[0]?.delivery_id, rows[1]?.delivery_id);
});

test('a backfill starts once no row can appear below its watermark', async () => {
  const { home, id, from } = await newLateExport();
  const slow = { ...engine, settle_seconds: 3_600 };
  const team_id = home.project.id;
  const begun = await harness.deps.db.transaction((tx) =>
    startBackfill(tx, id, { from, to: from + hour, by: 'timestamp', mode: 'missing' }, 3_600),
  );
  assert.equal(await advanceBackfills(slow), 0, 'its watermark has not settled');
  // A batch from before the watermark, of which nobody has said how it ended.
  const { now, epoch, last_inserted_at } = await readState(engine.db, team_id);
  const batch_id = randomUUID();
  const inserted_at = isoInstant(Date.parse(now) - 60_000);
  const note = { team_id, epoch, batch_id, inserted_at, last_inserted_at };
  assert.equal(
    await noteBatch(engine.db, { ...note, writes_persons: false, seconds_max: 30 }),
    'noted',
  );
  assert.equal(await advanceBackfills(engine), 0, 'rows of the batch may still come');
  await clearBatch(engine.db, team_id, batch_id);
  assert.equal(await advanceBackfills(engine), 1);
  assert.equal((await runsOf(id))[0]?.backfill_id, begun);
  await harness.deps.db.run(sql`UPDATE batch_exports SET paused = true WHERE id = ${id}`);
});

test('an export that cannot be planned delays no other of its project', async () => {
  const home = await harness.newOrganization();
  const from = Math.floor(Date.now() / hour) * hour - hour;
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1)
    ids.push(((await newExport(home)) as { id: string }).id);
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${new Date(from).toISOString()},
      next_run_at = ${new Date(from + hour).toISOString()} WHERE id = ANY (${ids}::uuid[])`,
  );
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET "interval" = 'day', timezone = 'Atlantis/Capital',
      next_run_at = next_run_at - interval '1 minute' WHERE id = ${ids[0]}`,
  );
  assert.equal(await planDueExports(engine), 2);
  await harness.deps.db.run(sql`UPDATE batch_exports SET paused = true WHERE id = ${ids[0]}`);
});
