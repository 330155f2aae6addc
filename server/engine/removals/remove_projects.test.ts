import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { verifyActivity } from '../../platform/activity/verify.ts';
import { listRemovals } from '../../cli/removals.ts';
import { deleteRows } from './delete_rows.ts';
import { removeProjects } from './remove_projects.ts';
import { aroundTests } from '../../../test/around_tests.ts';

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
  await removeProjects(harness.deps, signal, wait_ms);
  await harness.deps.db.run(sql`UPDATE removals SET removed_at = '2026-01-01Z'
    WHERE removed_at IS NOT NULL AND ended_at IS NULL`);
  return removeProjects(harness.deps, signal, wait_ms);
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
