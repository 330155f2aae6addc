import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import type { ClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import type { DeliveryOrders, KillPlace } from '../processes/killed_delivery.ts';
import { uuidDelivery } from '../servers/databases/postgres_destination.ts';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import type { EmbeddedStore } from '../../server/platform/embedded/supervise.ts';
import { silentLog } from '../../server/platform/log.ts';
import { RetryableError } from '../../server/engine/model/destination/errors.ts';
import type { Sink, SliceOutcome } from '../../server/engine/model/destination/destination.ts';
import type { ClickHouseConfig } from '../../server/engine/destinations/clickhouse/config.ts';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

let folder: string;

/** A separate server, because it is killed. */
export let store: EmbeddedStore;

/** A client without the guard and our own code. */
export let client: ClickHouseClient;

/**
 * The proxy of the server: opened before the tests of the files that import it, closed after them.
 */
export let proxy: ClickHouseProxy;

let base: ClickHouseConfig;

let places = 0;

/** Runs a statement. */
export async function run(query: string): Promise<void> {
  await client.command({ query });
}

/** The rows of a query. */
export async function rows<Row>(query: string): Promise<Row[]> {
  return (await client.query({ query, format: 'JSONEachRow' })).json<Row>();
}

/** A new table, with a partition for each of the two rows of a slice, and a delivery to it. */
export async function freshOrders(
  place: KillPlace,
): Promise<DeliveryOrders & { config: ClickHouseConfig }> {
  const table_name = `place_${(places += 1)}`;
  await run(
    `CREATE TABLE ${table_name} (n Int64, sluice_stage_id UUID) ENGINE = MergeTree PARTITION BY n %
      2 ORDER BY n`,
  );
  const slice = (from: number) => ({
    base64: Buffer.from(`n\n${from}\n${from + 1}\n`).toString('base64'),
    records: 2,
  });
  return {
    type: 'ClickHouse',
    config: { ...base, table_name },
    delivery: uuidDelivery({
      columns: [{ name: 'n', type: 'integer', nullable: false, expression: 'n' }],
    }),
    slices: [slice(0), slice(2)],
    place,
  };
}

/** Returns the rows in the table of a place. */
export async function delivered({ config }: { config: ClickHouseConfig }): Promise<number[]> {
  return (await rows<{ n: string }>(`SELECT n FROM ${config.table_name} ORDER BY n`)).map((row) =>
    Number(row.n),
  );
}

/** Writes the slices from this number. */
export async function writeSlices(
  sink: Sink,
  orders: DeliveryOrders,
  from = 0,
): Promise<SliceOutcome[]> {
  const outcomes: SliceOutcome[] = [];
  for (const [number, { base64, records }] of orders.slices.entries()) {
    if (number < from) continue;
    const written = await sink.write(
      { number, records },
      Readable.from([Buffer.from(base64, 'base64')]),
    );
    outcomes.push({
      number,
      ...written,
      records,
      bytes: Buffer.from(base64, 'base64').length,
      sha256: '',
    });
  }
  return outcomes;
}

/** Returns true if an error says that the server does not answer. */
export const isLost = (error: unknown) =>
  error instanceof RetryableError &&
  ['connection_lost', 'connection_failed', 'server_fault'].includes(error.code);

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-crash-'));
    store = await openEmbeddedClickHouse({ folder: join(folder, 'data'), log: silentLog() });
    client = createClient({ url: store.url, log: { level: 127 } });
    const url = new URL(store.url);
    proxy = await openClickHouseProxy(url.origin, { tls: false });
    base = { url: proxy.url, user: url.username, password: url.password };
  },
  async () => {
    await client.close();
    await proxy.close();
    await store.stop();
    await deps.outbound.close();
    await rm(folder, { recursive: true, force: true });
  },
);
