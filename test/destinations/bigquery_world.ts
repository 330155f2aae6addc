import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before } from 'node:test';
import { destinationDeps } from './destination_deps.ts';
import {
  freshDelivery as contractDelivery,
  uuid_only,
} from '../factories/batch_exports/deliveries.ts';
import type {
  Delivery,
  DestinationDeps,
  Sink,
  SliceOutcome,
} from '../../server/engine/model/destination/destination.ts';
import type {
  NonRetryableError,
  RetryableError,
} from '../../server/engine/model/destination/errors.ts';
import type { BigQueryConfig } from '../../server/engine/destinations/bigquery/config.ts';
import { selectFor } from '../../server/engine/destinations/formats/select.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import { openBigQueryServer } from '../servers/bigquery/server.ts';
import type { BigQueryServer } from '../servers/bigquery/server.ts';
import type { StoredTable } from '../servers/bigquery/tables.ts';
import { openClickHouseBytes } from '../servers/databases/clickhouse_bytes.ts';

let outbound: Outbound;
let clickhouse: ReturnType<typeof openClickHouseBytes>;
/** The Parquet file of two rows with the uuids `one` and `two`. */
let uuids: Buffer;
let places = 0;

/** The warehouse. */
export let server: BigQueryServer;
/** The parts that the server passes to the destination. */
export let deps: DestinationDeps;

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * Each test file calls it itself, because hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    server = await openBigQueryServer();
    outbound = openOutbound({ allow: ['127.0.0.0/8'] });
    clickhouse = openClickHouseBytes();
    uuids = await fileOf(uuid_only, "values('uuid String', 'one', 'two')");
    deps = {
      ...destinationDeps(server.reroute(outbound)),
      encodeRow: clickhouse.encodeRow,
    };
  });
  after(async () => {
    clickhouse.close();
    await server.close();
    await outbound.close();
  });
}

/** A config of a new, empty dataset. */
export function freshConfig(changes: Partial<BigQueryConfig> = {}): BigQueryConfig {
  const dataset_id = `delivery_${(places += 1)}`;
  server.tables(dataset_id);
  return { ...server.account, dataset_id, ...changes };
}

/** A table of the config's dataset; throws without one. */
export function tableOf(config: BigQueryConfig, name = 'events'): StoredTable {
  const table = server.tables(config.dataset_id).get(name);
  assert.ok(table, name);
  return table;
}

/** Names of the temporary tables of deliveries. */
export const stagesOf = (config: BigQueryConfig): string[] =>
  [...server.tables(config.dataset_id).keys()].filter((name) => name.startsWith('sluice_stage_'));

/** The Parquet file of rows; `from` is a relation of ClickHouse. */
export const fileOf = (columns: Column[], from: string): Promise<Buffer> =>
  clickhouse.bytes(selectFor({ format: 'Parquet', compression: 'zstd' }, columns), from);

/** Writes a slice: two rows with the uuids `one` and `two`, unless another file is given. */
export async function write(
  sink: Sink,
  number = 0,
  { bytes, records }: { bytes: Buffer; records: number } = { bytes: uuids, records: 2 },
): Promise<SliceOutcome> {
  const written = await sink.write({ number, records }, Readable.from([bytes]));
  return { number, ...written, records, bytes: bytes.length, sha256: '' };
}

/** A new delivery. */
export const freshDelivery = (changes: Partial<Delivery> = {}): Delivery =>
  contractDelivery({ columns: uuid_only, ...changes });

/** A manifest with this text. */
export const manifestOf = (text: string): { name: string; text: string } => ({
  name: 'manifest',
  text,
});

/** For `assert.rejects`: a fault of this kind and code, with a sentence. */
export function isFault(
  kind: typeof RetryableError | typeof NonRetryableError,
  code: string,
): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof kind, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, /\.$/);
    return true;
  };
}
