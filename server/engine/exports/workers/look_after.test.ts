import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHome } from '../../../../test/shared_home.ts';
import { claimRun } from './claims.ts';
import { lookAfter } from './look_after.ts';
import type { Active } from './look_after.ts';

const { harness, home } = shareHome();

/** Changes of a run in the hands of a worker, and the reason for which that worker stops it. */
const cases: [string, ReturnType<typeof sql>, string | undefined][] = [
  ['nothing', sql`UPDATE batch_export_runs SET last_updated_at = now()`, undefined],
  ['another worker takes it over', sql`UPDATE batch_export_runs SET attempt = attempt + 1`, 'lost'],
  ['it is cancelled', sql`UPDATE batch_export_runs SET cancel_requested_at = now()`, 'cancelled'],
  [
    'it is cancelled while it commits',
    sql`UPDATE batch_export_runs SET cancel_requested_at = now(), committing_at = now()`,
    undefined,
  ],
  ['its export is changed', sql`UPDATE batch_export_runs SET revision = 0`, 'cancelled'],
  ['it is deleted', sql`DELETE FROM batch_export_runs`, 'gone'],
];

for (const [happens, change, reason] of cases)
  test(`a worker ${reason === undefined ? 'keeps' : 'stops'} its run: ${happens}`, async () => {
    const { db, engine } = harness.deps;
    const worker = randomUUID();
    const { id } = (await newExport(home)) as { id: string };
    const run = (await claimRun(db, await insertRunRow(harness, id), worker))!;
    assert.equal(await claimRun(db, run.id, randomUUID()), undefined, 'a run has one worker');
    const controller = new AbortController();
    const active: Active = new Map([
      [run, { controller, ended: Promise.resolve(), is_stalled: false }],
    ]);
    await db.run(sql`${change} WHERE id = ${run.id}`);
    await lookAfter(engine, worker, active)();
    assert.equal(controller.signal.aborted ? controller.signal.reason : undefined, reason);
  });
