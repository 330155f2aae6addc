import assert from 'node:assert/strict';
import { createPublicKey, randomUUID, verify } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { verifyActivity } from '../../../platform/activity/verify.ts';
import { listRemovals } from '../../../cli/removals.ts';
import { sweepDeleted } from '../../exports/runs/sweep_history.ts';
import { deleteRows } from './delete_rows.ts';
import { removeProjects } from './remove_projects.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const harness = aroundTests(openHarness);

/** An organization whose project has `count` events of as many people. */
async function withEvents(count: number): Promise<TestOrganization> {
  const home = await harness.newOrganization();
  const events = Array.from({ length: count }, (_, index) => ({
    event: 'seen',
    distinct_id: `person ${index}`,
    $set: { index },
  }));
  const { status } = await harness.request('POST', `/api/projects/${home.project.id}/events/`, {
    key: home.key,
    body: { events },
  });
  assert.equal(status, 200);
  return home;
}

async function countRows(team_id: number): Promise<number[]> {
  const [row] = await harness.deps.clickhouse.rows<Record<string, string>>({
    query: `SELECT (SELECT count() FROM events WHERE team_id = {team_id:Int64}) AS events,
      (SELECT count() FROM persons WHERE team_id = {team_id:Int64}) AS persons`,
    query_params: { team_id },
  });
  return Object.values(row!).map(Number);
}

/** As some minutes later, when the store has removed the files of what it rewrote. */
const remove = async (wait_ms = 0, signal = new AbortController().signal) => {
  const done = await removeProjects(harness.deps, signal, wait_ms);
  await harness.deps.db.run(sql`UPDATE removals SET removed_at = '2026-01-01Z'
    WHERE removed_at IS NOT NULL AND ended_at IS NULL`);
  return done + (await removeProjects(harness.deps, signal, wait_ms));
};

test('rows of a deleted project go, those of others stay, a certificate says so', async () => {
  const [gone, stays] = [await withEvents(5), await withEvents(3)];
  const path = `/api/projects/${gone.project.id}/`;
  assert.equal((await harness.request('DELETE', path, { key: gone.key })).status, 204);
  assert.equal(await remove(60_000), 0, 'what was on its way in is waited for');
  assert.deepEqual(await countRows(gone.project.id), [5, 5]);
  assert.equal(await remove(), 1);
  assert.deepEqual(await countRows(gone.project.id), [0, 0]);
  assert.deepEqual(await countRows(stays.project.id), [3, 3]);
  assert.equal(await remove(), 0);

  const row = await harness.deps.db.row<{ certificate: string; signature: string }>(
    sql`SELECT certificate, signature FROM removals WHERE team_id = ${gone.project.id}`,
  );
  const { events, persons, team_id } = JSON.parse(row!.certificate) as Record<string, unknown>;
  assert.deepEqual([events, persons, team_id], [5, 5, gone.project.id]);
  const key = createPublicKey({
    key: Buffer.from(harness.deps.secrets.public_key, 'base64'),
    format: 'der',
    type: 'spki',
  });
  assert.ok(
    verify(null, Buffer.from(row!.certificate), key, Buffer.from(row!.signature, 'base64')),
  );
  assert.ok((await listRemovals(harness.deps)).includes(row!.certificate));
  const log_path = `/api/organizations/${gone.organization.id}/activity/?limit=1`;
  const log = await harness.request('GET', log_path, { key: gone.key });
  const [entry] = log.body['results'] as Record<string, unknown>[];
  assert.deepEqual(
    [entry!['activity'], entry!['scope'], entry!['item_id'], entry!['user']],
    ['erased', 'project', String(gone.project.id), null],
  );
});

test('an organization that is deleted leaves nothing, and its log tells of it', async () => {
  const gone = await withEvents(4);
  const path = `/api/organizations/${gone.organization.id}/`;
  const { status } = await harness.request('DELETE', path, { key: gone.key });
  assert.equal(status, 204);
  assert.equal(await remove(), 1);
  assert.deepEqual(await countRows(gone.project.id), [0, 0]);
  assert.equal((await verifyActivity(harness.deps.db, harness.deps.secrets)).faults_found, 0);
});

test('emptied exports go with their history after the answer, before the certificate', async () => {
  const { db } = harness.deps;
  for (const place of ['projects', 'organizations'] as const) {
    const gone = await harness.newOrganization();
    const team_id = gone.project.id;
    const secret = {
      url: 'https://hooks.example/',
      headers: { Authorization: 'Bearer of theirs' },
    };
    const { id } = await newExport(gone, { destination: { type: 'HTTP', config: secret } });
    await insertRunRow(harness, id, { hour: 1, status: 'Completed', total: 7 });
    const failed = await insertRunRow(harness, id, { hour: 2, status: 'Failed' });
    for (const [hour, worker_id] of [
      [3, null],
      [4, randomUUID()],
    ] as const)
      await db.run(sql`UPDATE batch_export_runs run SET worker_id = ${worker_id}::uuid,
        model = export.model, destination_type = export.destination_type,
        destination_config = export.destination_config
        FROM batch_exports export WHERE export.id = ${id}
          AND run.id = ${await insertRunRow(harness, id, { hour })}`);
    await db.run(sql`INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
      VALUES (${id}, ${failed}, 'ERROR', 'ada@example.com is no number')`);
    const path =
      place === 'projects'
        ? `/api/projects/${team_id}/`
        : `/api/organizations/${gone.organization.id}/`;
    assert.equal((await gone.ask('DELETE', path)).status, 204);

    const [released] = await db.rows<object>(sql`SELECT team_id, deleted_at IS NULL AS is_seen,
      name, destination_config, destination_secrets FROM batch_exports WHERE id = ${id}`);
    assert.deepEqual(released, {
      team_id: null,
      is_seen: false,
      name: '',
      destination_config: null,
      destination_secrets: null,
    });
    const runs = await db.rows<{ status: string }>(sql`SELECT status FROM batch_export_runs
      WHERE batch_export_id = ${id} ORDER BY status`);
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['Completed', 'Failed'],
    );
    const left = await db.rows(
      sql`SELECT 1 FROM batch_export_leftovers WHERE team_id = ${team_id}`,
    );
    assert.equal(left.length, 2, 'what a worker has begun is cleaned up');

    assert.equal(await remove(), 0, 'no certificate beside the history');
    assert.match(await listRemovals(harness.deps), /gone: 0 events.*; 2 runs of its exports left/);
    await sweepDeleted(harness.deps);
    assert.deepEqual(
      await db.rows(sql`SELECT 1 FROM batch_exports WHERE id = ${id} UNION ALL
        SELECT 1 FROM batch_export_logs WHERE batch_export_id = ${id}`),
      [],
    );
    assert.equal(await remove(), 1);
  }
});

test('a process that was killed in the middle is followed by another one', async () => {
  const gone = await withEvents(6);
  const path = `/api/projects/${gone.project.id}/`;
  await harness.request('DELETE', path, { key: gone.key });
  // As it is after a kill: claimed, counted, half of it removed.
  await harness.deps.db.run(sql`UPDATE removals SET claimed_at = now(), events = 6, persons = 6
    WHERE team_id = ${gone.project.id}`);
  await harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${gone.project.id}`,
    clickhouse_settings: { mutations_sync: '2' },
  });
  assert.equal(await remove(), 0, 'the claim of a process that may live holds');
  await harness.deps.db.run(sql`UPDATE removals SET claimed_at = now() - interval '6 minutes'
    WHERE team_id = ${gone.project.id}`);
  assert.equal(await remove(), 1);
  assert.deepEqual(await countRows(gone.project.id), [0, 0]);
  const row = await harness.deps.db.row<{ events: number; persons: number }>(
    sql`SELECT events, persons FROM removals WHERE team_id = ${gone.project.id}`,
  );
  assert.deepEqual(row, { events: 6, persons: 6 });
});

test('a store that cannot remove rows is not asked again and again', async () => {
  const { clickhouse } = harness.deps;
  for (const query of [
    'CREATE TABLE unremovable (id Int64) ENGINE = MergeTree ORDER BY id',
    'INSERT INTO unremovable VALUES (1)',
  ])
    await clickhouse.command({ query });
  const wanted = { condition: "id = 1 AND throwIf(id = 1, 'no')", query_params: {} };
  const table = 'unremovable' as 'events';
  const { signal } = new AbortController();
  for (let tries = 0; tries < 2; tries += 1)
    await assert.rejects(
      deleteRows(clickhouse, { table, ...wanted }, signal),
      /cannot remove rows/,
    );
  const asked = await clickhouse.rows({
    query: "SELECT 1 FROM system.mutations WHERE table = 'unremovable'",
  });
  await clickhouse.command({ query: 'DROP TABLE unremovable SYNC' });
  assert.equal(asked.length, 1);
});
