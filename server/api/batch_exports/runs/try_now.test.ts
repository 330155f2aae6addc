import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHome } from '../../../../test/shared_home.ts';
import { claimRun } from '../../../engine/exports/workers/claims.ts';
import { retryLater } from '../../../engine/exports/runs/progress.ts';

const { harness, home } = shareHome();

/** A run whose only attempt so far has failed. */
async function waitingRun(exportId: string, hour: number): Promise<string> {
  const id = await insertRunRow(harness, exportId, { hour });
  const run = (await claimRun(harness.deps.db, id, randomUUID()))!;
  const error = { code: 'unreachable', message: 'The server does not answer.' };
  await retryLater(harness.deps.engine, { ...run, failures: 6 }, error);
  return id;
}

const isDue = async (id: string) =>
  (await harness.deps.db.row<{ is_due: boolean }>(sql`
    SELECT due_at <= now() AS is_due FROM batch_export_runs WHERE id = ${id}`))!.is_due;

async function withExport() {
  const { id } = (await newExport(home)) as { id: string };
  const url = `${projectBase(home)}${id}/`;
  return { id, url, ask: (path: string) => home.ask('POST', `${url}${path}`) };
}

test('the next attempt of a waiting run starts at once, and asking again is harmless', async () => {
  const { id, url, ask } = await withExport();
  const run = await waitingRun(id, 0);
  const shown = (await home.ask('GET', `${url}runs/${run}/`)).body;
  const wait_ms = Date.parse(shown.next_try_at) - Date.parse(shown.last_updated_at);
  assert.ok(wait_ms > 100_000 && wait_ms <= 120_000, `${wait_ms}`);
  assert.equal(await isDue(run), false);
  for (const time of ['first', 'second']) {
    const answer = await ask(`runs/${run}/try_now/`);
    assert.deepEqual([answer.status, answer.body.id, await isDue(run)], [200, run, true], time);
  }
  const { results } = (await home.ask('GET', `${url}runs/${run}/logs/`)).body;
  assert.match(results[0].message, /A person requested the next attempt/);
  const log = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?item_id=${id}&activity=run_tried_now`,
  );
  assert.equal(log.body.results.length, 2);
});

test('a run that does not wait after a failed attempt is refused in a sentence', async () => {
  const { id, ask } = await withExport();
  const held = await insertRunRow(harness, id, { hour: 1 });
  await claimRun(harness.deps.db, held, randomUUID());
  const cases: [string, RegExp][] = [
    [await insertRunRow(harness, id), /is not waiting for another attempt/],
    [held, /is not waiting for another attempt/],
    [await insertRunRow(harness, id, { hour: 2, status: 'Failed' }), /ended: its status is Failed/],
  ];
  for (const [run, sentence] of cases) {
    const answer = await ask(`runs/${run}/try_now/`);
    assert.deepEqual([answer.status, answer.body.code], [409, 'conflict']);
    assert.match(answer.body.detail, sentence);
  }
  const none = await ask('try_now/');
  assert.deepEqual(
    [none.status, /No run of this export waits/.test(none.body.detail)],
    [409, true],
  );
});

test('all waiting runs of an export are tried at once, and those of others wait on', async () => {
  const { id, ask } = await withExport();
  const runs = [await waitingRun(id, 0), await waitingRun(id, 1)];
  const other = await waitingRun((await withExport()).id, 0);
  assert.equal((await ask('try_now/')).status, 200);
  assert.deepEqual(await Promise.all([...runs, other].map(isDue)), [true, true, false]);
});

test('an export that waits since a restore does not try', async () => {
  const { id, url, ask } = await withExport();
  const run = await waitingRun(id, 0);
  await harness.deps.db.run(sql`INSERT INTO reconciliations (batch_export_id, taken_at, goes_on)
    VALUES (${id}, '2026-03-04T05:06:07Z', true)`);
  for (const path of [`runs/${run}/try_now/`, 'try_now/', 'run_now/']) {
    const answer = await ask(path);
    assert.deepEqual([answer.status, /not reconciled/.test(answer.body.detail)], [409, true], path);
  }
  await harness.deps.db.run(sql`
    UPDATE batch_export_runs SET due_at = '2999-01-01T00:00:00Z' WHERE id = ${run}`);
  assert.equal((await home.ask('GET', `${url}runs/${run}/`)).body.next_try_at, null);
});

test('the list says of each ended run what a retry would answer, as the retry does', async () => {
  const { id, url, ask } = await withExport();
  const failed = await insertRunRow(harness, id, { status: 'Failed' });
  const retried = await insertRunRow(harness, id, { hour: 1, status: 'FailedRetryable' });
  await insertRunRow(harness, id, { hour: 1, status: 'Completed', delivery_id: retried });
  const elsewhere = await insertRunRow(harness, id, { hour: 2, status: 'Cancelled' });
  await insertRunRow(harness, id, { hour: 2, delivery_id: randomUUID() });
  const opened = await insertRunRow(harness, id, { hour: 3, status: 'Failed' });
  assert.equal((await ask(`runs/${opened}/retry/`)).body.repeats, 'retry');
  const moved = await insertRunRow(harness, id, {
    hour: 4,
    status: 'FailedRetryable',
    committing: true,
    revision: 0,
  });
  const { retries } = (await home.ask('GET', `${url}runs/`)).body;
  const wanted = { possible: failed, completed: retried, delivered: elsewhere };
  for (const [answer, run] of Object.entries({ ...wanted, in_progress: opened, changed: moved })) {
    assert.equal(retries[run], answer);
    assert.equal((await ask(`runs/${run}/retry/`)).status, answer === 'possible' ? 200 : 409);
  }
  assert.equal(Object.keys(retries).length, 5);
});
