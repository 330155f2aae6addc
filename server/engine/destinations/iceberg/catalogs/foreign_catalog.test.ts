import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../../test/around_tests.ts';
import {
  brokenConnection,
  listenAsCatalog,
  lose,
  withCommits,
  withRequests,
} from '../../../../../test/factories/batch_exports/faulty_catalog.ts';
import { openQueryHarness } from '../../../../../test/factories/batch_exports/query_exports.ts';
import { claimRun } from '../../../exports/workers/claims.ts';
import { executeRun } from '../../../exports/delivery/execute.ts';
import { destinationDeps } from '../../../exports/engine.ts';
import type { Engine } from '../../../exports/engine.ts';
import { findDestination } from '../../index.ts';
import { file_place } from '../../file/file.ts';
import { liveFiles } from '../live_files.ts';
import { openWorld } from '../open_world.ts';

let uri: string;
const exporting = aroundTests(openQueryHarness, async ({ harness }) => {
  uri = await listenAsCatalog(harness);
});
const signal = () => new AbortController().signal;

/** An export of two events an hour to a table that our own REST routes keep as another's. */
async function newTable(
  hours = 1,
  signIn: (key: string) => Record<string, unknown> = (key) => ({ catalog_token: key }),
) {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const at = Array.from({ length: hours }, (_, hour) => `2026-01-01T0${hour}:30:00Z`);
  await exporting.insert(
    home,
    at.flatMap((one) => ['a', 'b'].map((event) => ({ event, at: one }))),
  );
  const config: Record<string, unknown> = {
    storage: 'File',
    namespace: 'shop.web',
    table: 'events',
    catalog: 'rest',
    catalog_uri: uri,
    catalog_warehouse: String(home.project.id),
    ...signIn(home.key),
  };
  const body = { destination: { type: 'Iceberg', config } };
  const { id } = await exporting.scheduled(home, body, hours);
  const team_id = home.project.id;
  const { db, engine } = harness.deps;
  const world = () => openWorld(file_place, config, team_id, destinationDeps(engine, signal()));
  return {
    id,
    home,
    config,
    seen: async () => {
      const entries = [...(await liveFiles(await world())).values()].flat();
      return { files: entries.length, rows: entries.reduce((sum, one) => sum + one.records, 0) };
    },
    snapshots: async () => {
      const { body: answer } = await home.ask(
        'GET',
        `/iceberg/v1/${team_id}/namespaces/shop%1Fweb/tables/events`,
      );
      return answer['metadata'] as { snapshots: unknown[]; 'table-uuid': string };
    },
    run: async (own: Engine) => {
      const [{ id: run_id } = { id: '' }] = await exporting.plan(id);
      await db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run_id}`);
      const run = await claimRun(db, run_id, randomUUID());
      await executeRun(own, run!, signal());
      return (await db.row<{ status: string; error_code: string; latest_error: string }>(
        sql`SELECT status, error_code, latest_error FROM batch_export_runs WHERE id = ${run_id}`,
      ))!;
    },
  };
}

const engineOf = () => exporting.harness.deps.engine;

test('each hour is a snapshot of the other catalog, signed in by client credentials', async () => {
  const table = await newTable(2, (key) => ({
    catalog_client_id: 'sluice',
    catalog_client_secret: key,
  }));
  const runs = await exporting.runAll(table.id);
  assert.deepEqual(
    runs.map(({ status, records_completed }) => [status, records_completed]),
    [
      ['Completed', 2],
      ['Completed', 2],
    ],
  );
  assert.deepEqual(await table.seen(), { files: 2, rows: 4 });
  const row = await exporting.harness.deps.db.row<{ batch_export_id: string | null; last: string }>(
    sql`SELECT batch_export_id, metadata::jsonb -> 'properties' ->>
      ${`sluice.last-delivery.${table.id}`} AS last
      FROM lake_tables WHERE team_id = ${table.home.project.id}`,
  );
  assert.equal(row?.batch_export_id, null);
  assert.match(row.last, /^[0-9a-f-]{36}$/);
});

test('a delivery loads the table four times, and its commit once', async () => {
  const table = await newTable(2);
  await table.run(engineOf());
  const asked: string[] = [];
  const engine = withRequests(engineOf(), (method, path) => asked.push(`${method} ${path}`));
  assert.equal((await table.run(engine)).status, 'Completed');
  const own = asked.filter((one) => one.endsWith('/tables/events')).map((one) => one.split(' ')[0]);
  // For the partitions, for the place, and to look for the delivery before and behind its slices.
  assert.deepEqual(own, ['GET', 'GET', 'GET', 'GET', 'POST']);
  assert.deepEqual(await table.seen(), { files: 2, rows: 4 });
});

test('an answer that is lost after the commit doubles nothing', async () => {
  const table = await newTable();
  const keys: (string | undefined)[] = [];
  const engine = withCommits(engineOf(), (send, { count, headers }) => {
    keys.push(headers['Idempotency-Key']);
    return count === 1 ? lose(send()) : send();
  });
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  assert.equal(keys.length, 1);
  assert.match(keys[0]!, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
});

test('a request that is lost on its way is sent again as it was', async () => {
  const table = await newTable();
  const bodies: string[] = [];
  const engine = withCommits(engineOf(), async (send, { count, body }) => {
    bodies.push(body);
    if (count <= 2) throw brokenConnection();
    return send();
  });
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
});

test('a request that lands late, beside its repeat, adds its rows once', async () => {
  const table = await newTable();
  const late: (() => Promise<{ status: number }>)[] = [];
  const engine = withCommits(engineOf(), async (send, { count }) => {
    if (count > 1) return send();
    late.push(send);
    throw brokenConnection();
  });
  assert.equal((await table.run(engine)).status, 'Completed');
  // Its key is known, so it is told what the repeat was told.
  assert.equal((await late[0]!()).status, 200);
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  assert.equal((await table.snapshots()).snapshots.length, 1);
});

test('a commit of another writer in between is kept, and ours follows it', async () => {
  const table = await newTable();
  const { id: second } = await exporting.scheduled(
    table.home,
    { name: 'Second', destination: { type: 'Iceberg', config: table.config } },
    1,
  );
  const engine = withCommits(engineOf(), async (send, { count }) => {
    if (count === 1) await exporting.runAll(second);
    return send();
  });
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 2, rows: 4 });
});

test('in doubt nothing is deleted, and a later attempt finds the delivery', async () => {
  const table = await newTable();
  const { engine } = exporting.harness.deps;
  let is_away = false;
  const fetch: Engine['outbound']['fetch'] = async (url, init) => {
    if (is_away) throw brokenConnection();
    const answer = await engine.outbound.fetch(url, init);
    is_away = typeof init?.body === 'string' && init.body.includes('"add-snapshot"');
    return is_away ? lose(Promise.resolve(answer)) : answer;
  };
  const away = { ...engine, outbound: { ...engine.outbound, fetch } };
  const first = await table.run(away);
  assert.equal(first.status, 'Running');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  assert.equal((await table.run(engine)).status, 'Completed');
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
});

test('a refused commit says why, without the token that the catalog repeats', async () => {
  const table = await newTable();
  const message = `not for ${String(table.config['catalog_token'])}`;
  const engine = withCommits(
    engineOf(),
    async () =>
      Response.json({ error: { message, type: 'ForbiddenException' } }, { status: 403 }) as never,
  );
  const { status, error_code, latest_error } = await table.run(engine);
  assert.equal(status, 'Failed');
  assert.equal(error_code, 'permission_denied');
  assert.match(latest_error, /it answered 403 \(not for \*\*\*\)\.$/);
});

test('a rollback by another writer is told by verify and by the next run', async () => {
  const table = await newTable(2);
  const { engine } = exporting.harness.deps;
  await table.run(engine);
  const metadata = await table.snapshots();
  const path = `/iceberg/v1/${table.home.project.id}/namespaces/shop%1Fweb/tables/events`;
  const { status } = await table.home.ask('POST', path, {
    requirements: [{ type: 'assert-table-uuid', uuid: metadata['table-uuid'] }],
    updates: [{ action: 'remove-snapshot-ref', 'ref-name': 'main' }],
  });
  assert.equal(status, 200);
  assert.deepEqual(await table.seen(), { files: 0, rows: 0 });
  await table.run(engine);
  assert.deepEqual(await table.seen(), { files: 1, rows: 2 });
  const told = await exporting.harness.deps.db.row<{ warnings: string | null }>(
    sql`SELECT string_agg(message, ' ') AS warnings FROM batch_export_logs
      WHERE batch_export_id = ${table.id} AND level = 'WARNING'`,
  );
  assert.match(told?.warnings ?? '', /Another writer rolled the table back/);
});

test('a connection test signs in, creates a table and drops it', async () => {
  const table = await newTable();
  const check = (change: Record<string, unknown>) =>
    findDestination('Iceberg')!.check(
      { ...table.config, ...change },
      [],
      destinationDeps(engineOf(), signal()),
    );
  const steps = await check({});
  assert.deepEqual(
    steps.filter(({ status }) => status !== 'passed'),
    [],
  );
  assert.deepEqual(
    steps.map(({ name }) => name),
    [
      'Sign in to the catalog',
      'Find the namespace',
      'Create a table',
      'Open the folder',
      'Write a file',
      'Read it back',
      'Remove it',
      'Drop the table',
    ],
  );
  const { body } = await table.home.ask(
    'GET',
    `/iceberg/v1/${table.home.project.id}/namespaces/shop%1Fweb/tables`,
  );
  assert.deepEqual(body['identifiers'], []);
  const failed = async (change: Record<string, unknown>) => (await check(change))[0]?.detail ?? '';
  assert.match(await failed({ catalog_token: 'wrong' }), /refused the token .* answered 401/);
  assert.match(await failed({ catalog_warehouse: '999999999' }), /no warehouse "999999999"/);
  assert.match(await failed({ catalog_uri: `${uri}/none` }), /no Iceberg catalog at this address/);
  assert.match(await failed({ catalog_uri: 'http://127.0.0.1:59321' }), /does not answer/);
  const client = { catalog_token: null, catalog_client_id: 'x', catalog_client_secret: 'wrong' };
  assert.match(await failed(client), /gives no token for catalog_client_id/);
  const own = { ...client, catalog_client_secret: table.home.key };
  assert.equal((await check(own))[0]?.status, 'passed');
});
