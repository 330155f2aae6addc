import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { commandOn, openEmptyStores, passphrase } from '../../../test/factories/backups.ts';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import {
  eventsIn,
  first_hour_at,
  insertAt,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { tracedRows } from '../../../test/factories/lineage.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openHttpReceiver } from '../../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../../test/servers/http_receiver.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { file_place } from '../../engine/destinations/file/file.ts';
import { openWorld } from '../../engine/destinations/iceberg/open_world.ts';
import { rowsOf } from '../../engine/destinations/lake/delta_log/live_files.ts';
import { destinationDeps } from '../../engine/exports/engine.ts';
import { openDeltaTable } from '../../engine/exports/lake_maintenance/delta/delta_table.ts';
import { reconcileAll } from '../../engine/exports/reconcile/reconcile.ts';
import { startWorker } from '../../engine/exports/workers/worker.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { createBackup } from './backup.ts';
import { openPlace } from './places/open_place.ts';
import { reconcile } from './reconcile.ts';
import { chooseBackup } from './manifest.ts';
import { restoreBackup } from './restore.ts';

const hour_ms = 3_600_000;
let delivering: DeliveringHarness;
let warehouse: PostgresServer;
let receiver: HttpReceiver;
let home: TestOrganization;
let empty: Awaited<ReturnType<typeof openEmptyStores>>;
before(async () => {
  delivering = await openDeliveringHarness();
  warehouse = await openPostgresServer();
  receiver = await openHttpReceiver({});
  empty = await openEmptyStores(delivering.stores, `restored_${randomBytes(5).toString('hex')}`);
  home = await delivering.harness.newOrganization();
});
after(async () => {
  await receiver.close();
  await empty.close();
  await warehouse.close();
  await delivering.close();
});

const insert = (name: string, from: number) =>
  insertAt(
    delivering.harness,
    home,
    Array.from({ length: 10 }, (_, number) => ({
      event: `${name} ${number}`,
      happened: from + number,
      taken: from + number,
    })),
  );

/** Has the schedule plan one run of the interval, and waits until it is delivered. */
async function deliver({ deps }: Harness, ids: string[], from: number, to: number): Promise<void> {
  const [start, end] = [new Date(from).toISOString(), new Date(to).toISOString()];
  for (const id of ids)
    await deps.db.run(sql`UPDATE batch_exports SET planned_until = ${start}, next_run_at = ${end},
      end_at = ${end} WHERE id = ${id}`);
  await eventually('not all is delivered', async () => {
    const rows = await deps.db.rows(sql`SELECT 1 FROM batch_export_runs
      WHERE batch_export_id = ANY (${ids}::uuid[]) AND data_interval_end = ${end}
        AND id = delivery_id AND status = 'Completed'`);
    return rows.length === ids.length;
  });
}

test('an id of no waiting export is refused in a sentence', async () => {
  const context = commandOn(delivering.stores, delivering.folder);
  const text = '-'.repeat(36);
  await assert.rejects(reconcile(context, { export: text }), {
    message: `"${text}" is not the id of an export.`,
  });
  const id = '01a20000-0000-7000-8000-000000000000';
  assert.equal(await reconcile(context, { export: id }), 0);
  assert.match(
    context.said.at(-1)!,
    new RegExp(`^The export ${id} is not waiting for reconciliation`),
  );
});

test('rows later than the backup are not delivered again, and lost ones are named', async () => {
  const { harness, folder, stores } = delivering;
  await delivering.startOnce();
  const config = await warehouse.freshConfig();
  const destinations = {
    File: { prefix: 'files/{table}' },
    Postgres: config,
    Delta: { storage: 'File', table: 'events' },
    Iceberg: { storage: 'File', table: 'events' },
    HTTP: { url: `${receiver.url}/rows` },
  };
  const ids: Record<string, string> = {};
  for (const [type, given] of Object.entries(destinations))
    ids[type] = (await newExport(home, { name: type, destination: { type, config: given } })).id;
  const all = Object.values(ids);
  const [hour_1, hour_2] = [first_hour_at + hour_ms, first_hour_at + 2 * hour_ms];
  await insert('before', first_hour_at);
  await insert('waiting', hour_1);
  await deliver(harness, all, first_hour_at, hour_1);
  const place = openPlace(join(folder, 'backup'));
  await createBackup(commandOn(stores, folder), place, { passphrase, rows_per_file: 1_000 });
  // From here on the backup knows nothing: rows that it has are delivered, and rows that it lacks.
  await deliver(harness, all, hour_1, hour_2);
  const backup = await chooseBackup(place);
  const after_it = Date.parse(backup.manifest.taken_at) + 1_000;
  await insert('lost', after_it);
  await deliver(harness, all, hour_2, after_it + 100);

  const restored = commandOn(empty, folder);
  restored.config.data_dir = join(empty.folder, 'data');
  const { exports: found } = await restoreBackup(restored, place, backup, passphrase);
  const of = (type: string) => found.find(({ batch_export_id }) => batch_export_id === ids[type])!;
  for (const type of ['File', 'Postgres', 'Delta']) {
    const { is_waiting, goes_on, records, entered, lost } = of(type);
    assert.deepEqual([is_waiting, goes_on, records], [false, true, 20], type);
    assert.deepEqual([entered.completed, entered.restarted, lost?.rows], [2, 0, 10], type);
    assert.equal(lost?.names.length, 1, type);
  }
  // The catalog is restored too: no reader of its table sees what came after the backup.
  const { is_waiting, goes_on, records, lost } = of('Iceberg');
  assert.deepEqual([is_waiting, goes_on, records, lost], [false, true, 0, null]);
  assert.deepEqual([of('HTTP').is_waiting, of('HTTP').goes_on], [true, false]);
  assert.match(of('HTTP').detail!, /cannot be read again/);

  const again = await openHarness({
    clickhouse: false,
    config: { export_dir: folder, settle_seconds: 1 },
    deps: {
      db: openDatabase(empty.database_url, { connections_max: 8, application_name: 'sluice-test' }),
      clickhouse: openClickHouse(empty.clickhouse_url, { application: 'sluice-test' }),
    },
  });
  const worker = await startWorker(again.deps.engine, {
    runs_max: 2,
    project_runs_max: 2,
    host_runs_max: 2,
  });
  try {
    // The old server is gone: it would go on beside this one.
    await delivering.stopWorker();
    const readable = ['File', 'Postgres', 'Delta', 'Iceberg'].map((type) => ids[type]!);
    await deliver(again, readable, hour_1, hour_2);
    await deliver(again, readable, hour_2, after_it + 100);
    const wanted = ['before', 'lost', 'waiting'].flatMap((name) =>
      Array.from({ length: 10 }, (_, number) => `${name} ${number}`),
    );
    assert.deepEqual(await eventsIn(folder, 'files/events'), wanted.toSorted());
    const rows = await warehouse.pool.query<{ event: string }>(
      `SELECT event FROM "${config.schema}".events`,
    );
    assert.deepEqual(rows.rows.map(({ event }) => event).toSorted(), wanted.toSorted());
    assert.deepEqual(await deltaEvents(again, ids['Delta']!), wanted.toSorted());
    const stored = wanted.filter((event) => !event.startsWith('lost'));
    assert.deepEqual(await icebergEvents(again), stored.toSorted());
    await settleEndpoint(again, ids['HTTP']!);
    await settleChanged(again, ids['File']!);
  } finally {
    await worker.stop();
    await again.close();
  }
});

/** The events that readers of the Delta table of an export see. */
async function deltaEvents({ deps }: Harness, id: string): Promise<string[]> {
  const { signal } = new AbortController();
  const { world, state } = (await openDeltaTable(deps.engine, id, randomUUID(), signal))!;
  const events: string[] = [];
  for await (const [event] of rowsOf(world, state, [{ name: 'event' }])) events.push(String(event));
  return events.toSorted();
}

/** The events that readers of the Iceberg table of the project see. */
async function icebergEvents({ deps }: Harness): Promise<string[]> {
  const config = { storage: 'File', table: 'events' };
  const own = destinationDeps(deps.engine, new AbortController().signal);
  const rows = await tracedRows(await openWorld(file_place, config, home.project.id, own), [
    'event',
    'event',
  ]);
  return rows.map(({ key }) => key).toSorted();
}

/** Settles an endpoint as a person, because an endpoint cannot be asked for its rows. */
async function settleEndpoint({ deps }: Harness, id: string): Promise<void> {
  const state = () =>
    deps.db.row<{ paused: boolean; waits: boolean }>(sql`SELECT paused,
      EXISTS (SELECT 1 FROM reconciliations WHERE batch_export_id = id) AS waits
      FROM batch_exports WHERE id = ${id}`);
  assert.deepEqual(await state(), { paused: true, waits: true });
  // Whatever a person does: a run that is planned for it waits.
  await deps.db.run(sql`UPDATE batch_exports SET paused = false, end_at = now() + interval '1 day',
    next_run_at = now() - interval '10 s' WHERE id = ${id}`);
  const planned = () =>
    deps.db.row<{ waits: boolean; status: string }>(sql`
      SELECT due_at > now() + interval '1 year' AS waits, status FROM batch_export_runs
      WHERE batch_export_id = ${id} AND finished_at IS NULL OR error_code = 'cancelled'`);
  await eventually('no run is planned', async () => (await planned()) !== undefined);
  assert.deepEqual(await planned(), { waits: true, status: 'Starting' });
  const before_it = receiver.requests.length;
  const [settled, ...others] = await reconcileAll(deps.engine, {
    only: id,
    assumption: 'delivered',
  });
  assert.deepEqual([settled?.is_waiting, settled?.goes_on, others.length], [false, true, 0]);
  assert.deepEqual(await state(), { paused: false, waits: false });
  assert.deepEqual([(await planned())?.status, receiver.requests.length], ['Cancelled', before_it]);
}

/** Receipts of an export that was another when they were created: a person says what they are. */
async function settleChanged({ deps }: Harness, id: string): Promise<void> {
  await deps.db.run(sql`DELETE FROM batch_export_runs WHERE batch_export_id = ${id}`);
  await deps.db.run(sql`UPDATE batch_exports SET destination_config = destination_config ||
    '{"include_events": ["other"]}' WHERE id = ${id}`);
  await deps.db.run(sql`INSERT INTO reconciliations (batch_export_id, taken_at, goes_on)
    VALUES (${id}, now(), true)`);
  const [waiting] = await reconcileAll(deps.engine, { only: id });
  assert.deepEqual([waiting?.is_waiting, waiting?.others], [true, 3]);
  assert.match(waiting!.detail!, /changed after the backup/);
  const [settled] = await reconcileAll(deps.engine, { only: id, assumption: 'delivered' });
  assert.deepEqual([settled?.is_waiting, settled?.entered.completed], [false, 3]);
}
