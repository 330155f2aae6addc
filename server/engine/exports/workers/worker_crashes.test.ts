import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { openClaimWorld } from '../../../../test/factories/batch_exports/claim_world.ts';
import type { ClaimWorld } from '../../../../test/factories/batch_exports/claim_world.ts';
import { openHarness } from '../../../../test/harness.ts';
import { break_off_pauses_seconds, break_offs_max } from '../runs/worker_crashes.ts';
import { executeRun } from '../delivery/execute.ts';
import { beginCommit, resetProgress, storeProgress, storeSlices } from '../runs/progress.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { beat, beginStop, leave, releaseDead, stillLives } from './heartbeat.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let world: ClaimWorld;

const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    world = await openClaimWorld(opened);
  },
);
beforeEach(() => world.clear());

/**
 * Lets a worker claim waiting runs and then be killed, `times` times; returns the pauses of the
 * run. It skips the wait in each pause.
 */
async function breakOff(id: string, times: number): Promise<number[]> {
  const pauses: number[] = [];
  for (let count = 0; count < times; count += 1) {
    const worker = world.openClaimant();
    await beat(harness.deps.db, worker.worker_id);
    assert.ok((await worker.claim(10)).includes(id));
    await world.fallSilent(worker);
    const released = await releaseDead(harness.deps.db);
    pauses.push(released.find((run) => run.id === id)!.pause_seconds);
    await hurry();
  }
  return pauses;
}
const hurry = () =>
  harness.deps.db.run(
    sql`UPDATE batch_export_runs SET due_at = now() - interval '1 day'
      WHERE status IN ('Starting', 'Running')`,
  );
const breakOffsOf = async (id: string) =>
  (await harness.deps.db.row<{ break_offs: number }>(
    sql`SELECT break_offs FROM batch_export_runs WHERE id = ${id}`,
  ))!.break_offs;

test('a run that broke off twice runs alone in the eldest worker', async () => {
  const [suspect, neighbour] = [await world.newRun(0), await world.newRun(1)];
  assert.deepEqual(await breakOff(suspect, 2), break_off_pauses_seconds.slice(0, 2));
  await world.end(neighbour);
  const [eldest, other] = [world.openClaimant(), world.openClaimant()];
  await harness.deps.db.run(sql`INSERT INTO workers (id) VALUES (${other.worker_id})`);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET due_at = now() + interval '1 minute' WHERE id = ${suspect}`,
  );
  const held = [await world.newRun(1, { hour: 1 }), await world.newRun(2, { hour: 1 })];
  assert.deepEqual([...(await eldest.claim(1)), ...(await other.claim(1))], held);
  await hurry();
  const waiting = await world.newRun(1, { hour: 2 });
  const [first, second] = eldest.worker_id < other.worker_id ? [eldest, other] : [other, eldest];
  await beat(harness.deps.db, eldest.worker_id);
  assert.deepEqual(await first.claim(2), [], 'it takes nothing before it is free');
  assert.deepEqual(await second.claim(2), [waiting]);
  const own = first === eldest ? held[0]! : held[1]!;
  await world.end(own);
  first.forget(own);
  const later = await world.newRun(1, { hour: 3 });
  assert.deepEqual(await first.claim(2), [suspect]);
  assert.deepEqual(await first.claim(2), [], 'nothing beside it');
  assert.deepEqual(await second.claim(2), [later]);
});

test('progress restarts the count of crashes; rewritten rows are none', async () => {
  const engine = harness.deps.engine;
  const id = await world.newRun(0);
  const slice = (number: number) => ({
    number,
    inserted_from: null,
    inserted_to: null,
    records: 1,
    outcome: null,
  });
  const outcome = (number: number) => ({
    number,
    name: 'x',
    records: 1,
    bytes: 1,
    sha256: '',
    state: null,
  });
  const again = async (work: (run: ClaimedRun) => Promise<unknown>, expected: number) => {
    await breakOff(id, 1);
    const worker = world.openClaimant();
    await beat(harness.deps.db, worker.worker_id);
    await worker.claim(10);
    await work(worker.claimed()[0]!);
    assert.equal(await breakOffsOf(id), expected);
    await leave(harness.deps.db, worker.worker_id, { is_fault: false });
  };
  await again(async () => undefined, 1);
  await again((run) => storeSlices(engine, run, [slice(0), slice(1)]), 0);
  await again((run) => storeProgress(engine, run, [outcome(0)]), 0);
  await again((run) => resetProgress(engine, run, []), 1);
  await again((run) => storeProgress(engine, run, [outcome(0)]), 2);
  await again((run) => storeProgress(engine, run, [outcome(0), outcome(1)]), 0);
  await again((run) => beginCommit(engine, run, '{}'), 0);
  await again((run) => beginCommit(engine, run, '{}'), 1);
});

test('only a worker that dies counts as a crash', async () => {
  const id = await world.newRun(0);
  const take = async () => {
    await hurry();
    const worker = world.openClaimant();
    await beat(harness.deps.db, worker.worker_id);
    assert.deepEqual(await worker.claim(1), [id]);
    return worker;
  };
  const released = async () =>
    (await releaseDead(harness.deps.db)).map(({ break_offs }) => break_offs);
  const asked = await take();
  await beginStop(harness.deps.db, asked.worker_id);
  await beat(harness.deps.db, asked.worker_id);
  await world.fallSilent(asked);
  assert.deepEqual(await released(), [0]);
  const slow = await take();
  await world.fallSilent(slow);
  assert.deepEqual(await released(), [1]);
  await leave(harness.deps.db, (await take()).worker_id, { is_fault: true });
  assert.equal(await breakOffsOf(id), 2);
  await stillLives(harness.deps.db, slow.worker_id);
  assert.equal(await breakOffsOf(id), 1);
  await leave(harness.deps.db, (await take()).worker_id, { is_fault: false });
  assert.equal(await breakOffsOf(id), 1);
});

test('a run that broke off too often is given up, stays in doubt, or is cancelled', async () => {
  const expected = {
    none: ['FailedRetryable', 'broke_off', false],
    committing: ['FailedRetryable', 'broke_off', true],
    cancelled: ['Cancelled', 'cancelled', false],
  };
  for (const [fate, [status, code, isInDoubt]] of Object.entries(expected)) {
    const id = await world.newRun(0);
    if (fate === 'committing')
      await harness.deps.db.run(
        sql`UPDATE batch_export_runs SET committing_at = now() WHERE id = ${id}`,
      );
    assert.deepEqual(await breakOff(id, break_offs_max), [...break_off_pauses_seconds, 0]);
    if (fate === 'cancelled')
      await harness.deps.db.run(
        sql`UPDATE batch_export_runs SET cancel_requested_at = now() WHERE id = ${id}`,
      );
    const worker = world.openClaimant();
    await worker.claim(1);
    await executeRun(harness.deps.engine, worker.claimed()[0]!, new AbortController().signal);
    const run = await harness.deps.db.row<{
      status: string;
      error_code: string;
      latest_error: string;
    }>(sql`SELECT status, error_code, latest_error FROM batch_export_runs WHERE id = ${id}`);
    assert.deepEqual(
      [run!.status, run!.error_code, run!.latest_error.includes('may or may not show')],
      [status, code, isInDoubt],
    );
  }
});
