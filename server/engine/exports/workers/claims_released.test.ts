import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beat, hurryCancelled, leave, releaseDead } from './heartbeat.ts';
import {
  openAroundTests,
  harness,
  world,
  newRuns,
} from '../../../../test/factories/batch_exports/claimed_runs.ts';

openAroundTests();

const holderOf = async (id: string) =>
  (await harness.deps.db.row<{ worker_id: string | null }>(
    sql`SELECT worker_id FROM batch_export_runs WHERE id = ${id}`,
  ))!.worker_id;

test('workers that claim at once take each run once and keep the bounds', async () => {
  const bounds = { project_runs_max: 3, host_runs_max: 100 };
  for (const project of [0, 1, 2]) await newRuns(project, 5);
  const claimed = (
    await Promise.all(Array.from({ length: 6 }, () => world.openClaimant(bounds).claim(4)))
  ).flat();
  assert.equal(claimed.length, 9);
  assert.equal(new Set(claimed).size, 9);
});

test('a claim passes over paused and locked runs, and takes a cancelled one at once', async () => {
  const [paused, locked, next] = await newRuns(0, 3);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET due_at = now() + interval '1 minute' WHERE id = ${paused}`,
  );
  const worker = world.openClaimant();
  await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM batch_export_runs WHERE id = ${locked} FOR UPDATE`);
    assert.deepEqual(await worker.claim(10), [next]);
  });
  assert.deepEqual(await worker.claim(10), [locked]);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET cancel_requested_at = now() WHERE id = ${paused}`,
  );
  await hurryCancelled(harness.deps.db);
  assert.deepEqual(await worker.claim(10), [paused]);
});

test('a run that its worker does not work on waits again, after a pause', async () => {
  const run = await world.newRun(0);
  const worker = world.openClaimant();
  await worker.claim(1);
  worker.forget(run);
  assert.deepEqual(await worker.claim(1), []);
  assert.equal(await holderOf(run), null);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET due_at = due_at - interval '1 minute' WHERE id = ${run}`,
  );
  assert.deepEqual(await worker.claim(1), [run]);
});

test('the runs of a dead or leaving worker wait again, those of a living one do not', async () => {
  const [ofDead, ofLiving] = [world.openClaimant(), world.openClaimant()];
  for (const { worker_id } of [ofDead, ofLiving]) await beat(harness.deps.db, worker_id);
  const runs = [await world.newRun(0), await world.newRun(1)];
  assert.deepEqual([...(await ofDead.claim(1)), ...(await ofLiving.claim(1))], runs);
  assert.deepEqual(await releaseDead(harness.deps.db), []);
  await world.fallSilent(ofDead);
  assert.deepEqual(
    (await releaseDead(harness.deps.db)).map(({ id }) => id),
    [runs[0]],
  );
  assert.deepEqual(await ofLiving.claim(10), [runs[0]]);
  await beat(harness.deps.db, ofDead.worker_id);
  assert.deepEqual(await releaseDead(harness.deps.db), []);
  await leave(harness.deps.db, ofLiving.worker_id, { is_fault: false });
  assert.deepEqual((await world.openClaimant().claim(10)).toSorted(), runs.toSorted());
});

test('random claims and ends break no bound, and leave no startable run waiting', async () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('plan' as const),
      project: fc.nat(2),
      host: fc.constantFrom(null, 'one', 'two'),
    }),
    fc.record({
      do: fc.constant('claim' as const),
      worker: fc.nat(1),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({ do: fc.constant('end' as const), which: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await harness.deps.db.run(sql`DELETE FROM batch_export_runs`);
      const bounds = { project_runs_max: 2, host_runs_max: 2 };
      const workers = [world.openClaimant(bounds), world.openClaimant(bounds)];
      const known = new Map<string, { project: number; host: string | null; is_held: boolean }>();
      const held = () => [...known.values()].filter((run) => run.is_held);
      const isFree = (run: { project: number; host: string | null }) =>
        held().filter((other) => other.project === run.project).length < 2 &&
        (run.host === null || held().filter((other) => other.host === run.host).length < 2);
      for (const [hour, one] of steps.entries()) {
        if (one.do === 'plan')
          known.set(
            await world.newRun(
              one.project,
              one.host === null ? { hour } : { hour, host: one.host },
            ),
            { ...one, is_held: false },
          );
        if (one.do === 'end') {
          const [id] = [...known].filter(([, run]) => run.is_held)[one.which] ?? [];
          if (id !== undefined) {
            await world.end(id);
            known.delete(id);
          }
        }
        if (one.do !== 'claim') continue;
        const claimed = await workers[one.worker]!.claim(one.count);
        for (const id of claimed) {
          assert.ok(isFree(known.get(id)!), 'a bound was broken');
          known.get(id)!.is_held = true;
        }
        if (claimed.length < one.count)
          assert.ok(
            ![...known.values()].some((run) => !run.is_held && isFree(run)),
            'a run waits that could begin',
          );
      }
    }),
    { numRuns: 25 },
  );
});
