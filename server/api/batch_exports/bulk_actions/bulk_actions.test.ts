// Length: each action, with each way in which an item or the whole ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { inDepth } from '../../../../test/depth.ts';
import { newServiceKey } from '../../../../test/factories/people/service_keys.ts';
import { shareHarness } from '../../../../test/harness.ts';
import type { Member, TestOrganization } from '../../../../test/harness.ts';
import type { BulkActionItem } from './schema.ts';
import { sweepBulkActions } from './sweep.ts';
import { workBulkActions } from './work.ts';

const harness = shareHarness({ clickhouse: false });

const bulkBase = (home: TestOrganization) => `/api/projects/${home.project.id}/bulk_actions/`;
const post = (caller: Member, path: string, body: unknown) => caller.ask('POST', path, body);
const get = async (home: TestOrganization, path: string) => (await home.ask('GET', path)).body;
const work = () => workBulkActions(harness.deps);

/** Runs that failed, one for each hour from 1 January 2026 on. */
async function insertFailed(home: TestOrganization, exportId: string, count: number) {
  await harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, finished_at, error_code)
    SELECT made.id, ${exportId}, ${home.project.id}, 1, made.id, 'Failed', made.at,
      made.at + interval '1 hour', jsonb_build_array(jsonb_build_object('event_from', null,
        'event_to', null, 'inserted_from', extract(epoch FROM made.at)::bigint * 1000,
        'inserted_to', (extract(epoch FROM made.at)::bigint + 3600) * 1000)), now(), 'gone'
    FROM generate_series(0, ${count - 1}::integer) n CROSS JOIN LATERAL (
      SELECT gen_random_uuid() AS id, '2026-01-01Z'::timestamptz + n * interval '1 hour' AS at
    ) made`);
}

const retriesOf = (exportId: string) =>
  harness.deps.db.rows<{ delivery_id: string; count: number }>(sql`
    SELECT delivery_id, count(*) AS count FROM batch_export_runs
    WHERE batch_export_id = ${exportId} GROUP BY delivery_id`);

/** Several lots; or as many as may be. */
const many = inDepth(250, 5_000);

test('many failed runs are retried, each once, with a result for each', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await insertFailed(home, id, many);
  const created = await post(home, `${projectBase(home)}${id}/runs/bulk/`, {
    action: 'retry_runs',
    filter: { error_code: 'gone' },
  });
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(created.body.progress, {
    total: many,
    pending: many,
    succeeded: 0,
    unchanged: 0,
    refused: 0,
  });
  // The selection was fixed, so a run that fails now is not part of it.
  await insertRunRow(harness, id, { hour: 9_000, status: 'Failed' });
  const url = `${bulkBase(home)}${created.body.id}/`;
  await work();
  const done = await get(home, url);
  assert.deepEqual([done.status, done.progress.succeeded], ['Completed', many], done.detail);
  const deliveries = await retriesOf(id);
  assert.equal(deliveries.filter(({ count }) => count === 2).length, many);
  assert.equal(deliveries.filter(({ count }) => count === 1).length, 1);
  const items = await get(home, `${url}items/?limit=2&offset=${many - 2}`);
  assert.deepEqual([items.count, items.results.length], [many, 2]);
  assert.ok(items.results.every((item: BulkActionItem) => item.new_run !== null));
  // Once more: all of them have a retry under way, so a filter leaves them out.
  const filter = { batch_export: id, before: '2026-01-02T00:00:00Z' };
  const again = await post(home, bulkBase(home), { action: 'retry_runs', filter });
  assert.equal(again.body.progress.total, 0);
  const [{ run }] = items.results;
  const named = await post(home, bulkBase(home), { action: 'retry_runs', ids: [run] });
  await work();
  const refused = await get(home, `${bulkBase(home)}${named.body.id}/items/?outcome=refused`);
  assert.equal(refused.results[0].detail, 'A retry of this run is in progress.');
});

test('of runs of one interval only those are retried that a retry would accept', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const first = await insertRunRow(harness, id, { status: 'Failed' });
  await insertRunRow(harness, id, { status: 'Failed', delivery_id: first });
  const repaired = await insertRunRow(harness, id, { hour: 1, status: 'Failed' });
  await insertRunRow(harness, id, { hour: 1, status: 'Completed', delivery_id: repaired });
  const body = { action: 'retry_runs', filter: {} };
  const counted = await post(home, `${projectBase(home)}${id}/runs/bulk/?validate_only=true`, body);
  assert.equal(counted.body.progress.total, 1, counted.text);
  const created = await post(home, `${projectBase(home)}${id}/runs/bulk/`, body);
  await work();
  const { progress } = await get(home, `${bulkBase(home)}${created.body.id}/`);
  assert.deepEqual([progress.total, progress.succeeded, progress.refused], [1, 1, 0]);
});

test('two processes share the work; one that is cut off leaves nothing half done', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await insertFailed(home, id, 250);
  const { body } = await post(home, bulkBase(home), { action: 'retry_runs', filter: {} });
  const url = `${bulkBase(home)}${body.id}/`;
  const pending = async () => (await get(home, url)).progress.pending;
  const cut = workBulkActions(harness.deps).catch(() => undefined);
  while ((await pending()) === 250);
  await harness.deps.db.run(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`);
  await cut;
  await Promise.all([work(), work()]);
  assert.deepEqual([await pending(), (await get(home, url)).progress.succeeded], [0, 250]);
  assert.ok((await retriesOf(id)).every(({ count }) => count === 2));
});

test('exports are paused, unpaused and deleted, by list or filter', async () => {
  const home = await harness.newOrganization();
  const names = ['One', 'Two', 'Other'];
  const ids: string[] = [];
  for (const name of names) ids.push((await newExport(home, { name })).id);
  await post(home, `${projectBase(home)}${ids[0]}/pause/`, {});
  const act = async (body: object) => {
    const created = await post(home, bulkBase(home), body);
    assert.equal(created.status, 201, created.text);
    await work();
    return get(home, `${bulkBase(home)}${created.body.id}/`);
  };
  const paused = await act({ action: 'pause_exports', ids: [ids[0], ids[2]] });
  assert.deepEqual([paused.progress.unchanged, paused.progress.succeeded], [1, 1]);
  const shown = await get(home, `${projectBase(home)}${ids[2]}/`);
  assert.equal(shown.paused, true);
  const log = await get(
    home,
    `/api/organizations/${home.organization.id}/activity/?item_id=${ids[2]}&activity=paused`,
  );
  assert.equal(log.results[0].user.uuid, home.user.uuid);
  assert.ok(log.results[0].changes.some(({ after: to }: { after: unknown }) => to === paused.id));
  const active = await act({
    action: 'unpause_exports',
    filter: { paused: true },
    backfill: true,
  });
  assert.deepEqual([active.progress.total, active.progress.succeeded], [2, 2]);
  const gone = await act({ action: 'delete_exports', filter: { search: 'tW' } });
  assert.deepEqual([gone.progress.total, gone.progress.succeeded], [1, 1]);
  const left = await get(home, projectBase(home));
  assert.deepEqual(left.results.map(({ name }: { name: string }) => name).toSorted(), [
    'One',
    'Other',
  ]);
  const open = await insertRunRow(harness, ids[0]!, {});
  const cancelled = await act({ action: 'cancel_runs', ids: [open] });
  assert.equal(cancelled.progress.succeeded, 1);
  const run = await get(home, `${projectBase(home)}${ids[0]}/runs/${open}/`);
  assert.notEqual(run.cancel_requested_at, null);
  assert.equal((await get(home, bulkBase(home))).count, 4);
});

test('an export that waits since a restore is refused in the words of its own route', async () => {
  const home = await harness.newOrganization();
  const [waiting, other] = [await newExport(home), await newExport(home)];
  for (const { id } of [waiting, other]) await post(home, `${projectBase(home)}${id}/pause/`, {});
  await harness.deps.db.run(sql`INSERT INTO reconciliations (batch_export_id, taken_at, goes_on)
    VALUES (${waiting.id}, '2026-03-04T05:06:07Z', true)`);
  const alone = await post(home, `${projectBase(home)}${waiting.id}/unpause/`, {});
  assert.equal(alone.status, 409);
  const ids = [waiting.id, other.id];
  const created = await post(home, bulkBase(home), { action: 'unpause_exports', ids });
  await work();
  const { results } = await get(home, `${bulkBase(home)}${created.body.id}/items/`);
  assert.deepEqual(
    ids.map((id) => results.find((item: BulkActionItem) => item.batch_export === id)!.detail),
    [alone.body.detail, null],
  );
  const paused = async (id: string) => (await get(home, `${projectBase(home)}${id}/`)).paused;
  assert.deepEqual([await paused(waiting.id), await paused(other.id)], [true, false]);
});

test('a deletion meanwhile is a result; an abort leaves the rest alone', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await insertFailed(home, id, 3);
  const created = await post(home, bulkBase(home), { action: 'retry_runs', filter: {} });
  await home.ask('DELETE', `${projectBase(home)}${id}/`);
  await work();
  const { results } = await get(home, `${bulkBase(home)}${created.body.id}/items/`);
  assert.ok(results.every(({ detail }: BulkActionItem) => detail === 'The export was deleted.'));
  const other = await newExport(home);
  await insertFailed(home, other.id, 3);
  const stopped = await post(home, bulkBase(home), { action: 'retry_runs', filter: {} });
  const url = `${bulkBase(home)}${stopped.body.id}/`;
  assert.equal((await post(home, `${url}abort/`, [])).status, 400);
  const aborted = await post(home, `${url}abort/`, {});
  assert.deepEqual([aborted.status, aborted.body.status], [200, 'Aborted']);
  await work();
  assert.equal((await retriesOf(other.id)).length, 3);
  assert.equal((await get(home, `${url}items/?outcome=aborted`)).count, 3);
  assert.equal((await post(home, `${url}abort/`, {})).status, 409);
});

test('an item at which the server fails is refused, and the others are done', async () => {
  const home = await harness.newOrganization();
  const { db } = harness.deps;
  const { id } = await newExport(home);
  await insertFailed(home, id, 5);
  const broken = (await retriesOf(id))[2]!.delivery_id;
  const created = await post(home, bulkBase(home), { action: 'retry_runs', filter: {} });
  await db.text(`CREATE FUNCTION refuse_retry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'no retry here'; END $$;
    CREATE TRIGGER refuse_retry BEFORE INSERT ON batch_export_runs
    FOR EACH ROW WHEN (NEW.delivery_id = '${broken}') EXECUTE FUNCTION refuse_retry()`);
  try {
    await work();
  } finally {
    await db.text(`DROP TRIGGER refuse_retry ON batch_export_runs; DROP FUNCTION refuse_retry()`);
  }
  const { status, progress } = await get(home, `${bulkBase(home)}${created.body.id}/`);
  assert.deepEqual(
    [status, progress.succeeded, progress.refused, progress.pending],
    ['Completed', 4, 1, 0],
  );
  const { results } = await get(home, `${bulkBase(home)}${created.body.id}/items/?outcome=refused`);
  assert.match(results[0].detail, /^The server failed on it; the server log says why\./);
  assert.deepEqual(
    (await retriesOf(id)).map(
      ({ delivery_id, count }) => count === (delivery_id === broken ? 1 : 2),
    ),
    [true, true, true, true, true],
  );
});

test('a bulk action of a person who is no longer an active member stops', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await insertFailed(home, id, 2);
  for (const leave of [
    (user: number) => sql`DELETE FROM members WHERE user_id = ${user}`,
    (user: number) => sql`UPDATE users SET is_active = false WHERE id = ${user}`,
  ]) {
    const member = await harness.newMember(home.organization.id, 1);
    const { body } = await post(member, bulkBase(home), { action: 'retry_runs', filter: {} });
    await harness.deps.db.run(leave(member.user.id));
    await work();
    const ended = await get(home, `${bulkBase(home)}${body.id}/`);
    assert.equal(ended.status, 'Aborted');
    assert.match(ended.detail, /no longer an active member/);
    assert.equal((await retriesOf(id)).length, 2);
  }
});

test('wrong bodies are 400, what is not there too; nothing of others is reached', async () => {
  const [home, stranger] = [await harness.newOrganization(), await harness.newOrganization()];
  const { id } = await newExport(home);
  const run = await insertRunRow(harness, id, { status: 'Failed' });
  for (const [body, attr] of [
    [{ action: 'retry_runs' }, 'filter'],
    [{ action: 'burn', filter: {} }, 'action'],
    [{ action: 'retry_runs', ids: [crypto.randomUUID()] }, 'ids'],
    [{ action: 'retry_runs', filter: {}, backfill: true }, 'backfill'],
    [{ action: 'retry_runs', filter: { after: '0001-01-01T00:00:00Z' } }, 'filter__after'],
    [{ action: 'delete_exports', filter: { serach: 'x' } }, 'filter__serach'],
    [{ action: 'delete_exports', filter: { status: ['Failed'] } }, 'filter__status'],
    [{ action: 'pause_exports', filter: { before: '2026-01-01T00:00:00Z' } }, 'filter__before'],
  ] as const) {
    const answer = await post(home, bulkBase(home), body);
    assert.deepEqual([answer.status, answer.body.attr], [400, attr]);
  }
  const foreign = await post(stranger, bulkBase(stranger), { action: 'retry_runs', ids: [run] });
  assert.equal(foreign.status, 400);
  const none = await post(stranger, bulkBase(stranger), { action: 'retry_runs', filter: {} });
  assert.deepEqual([none.body.status, none.body.progress.total], ['Completed', 0]);
  const looked = await post(home, `${bulkBase(home)}?validate_only=true`, {
    action: 'retry_runs',
    filter: {},
  });
  assert.equal(looked.body.progress.total, 1);
  assert.equal((await get(home, bulkBase(home))).count, 0);
  await harness.deps.db.run(sql`UPDATE bulk_actions SET finished_at = now() - interval '31 days'
    WHERE id = ${none.body.id}`);
  await sweepBulkActions(harness.deps);
  assert.equal((await get(stranger, bulkBase(stranger))).count, 0);
});

test('a bulk action of a service key runs, and stops when the key is revoked', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await insertFailed(home, id, 2);
  const key = await newServiceKey(harness, home);
  const ask = (path: string, body: object) => harness.request('POST', path, { key, body });
  const { body } = await ask(bulkBase(home), { action: 'retry_runs', filter: {} });
  await work();
  const done = await get(home, `${bulkBase(home)}${body.id}/`);
  assert.deepEqual([done.status, done.progress.succeeded, done.created_by], ['Completed', 2, null]);
  const { body: second } = await ask(bulkBase(home), { action: 'pause_exports', ids: [id] });
  await harness.deps.db.run(
    sql`DELETE FROM service_keys WHERE organization_id = ${home.organization.id}::uuid`,
  );
  await work();
  const ended = await get(home, `${bulkBase(home)}${second.id}/`);
  assert.deepEqual([ended.status, ended.progress.succeeded], ['Aborted', 0]);
  assert.match(ended.detail, /service key was revoked/);
});
