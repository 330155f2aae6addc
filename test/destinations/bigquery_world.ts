import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after } from 'node:test';
import { freshDelivery as contractDelivery, uuid_only } from '../factories/deliveries.ts';
import type {
  Delivery,
  DestinationDeps,
  Sink,
  SliceOutcome,
} from '../../server/engine/destination/destination.ts';
import type { NonRetryableError, RetryableError } from '../../server/engine/destination/errors.ts';
import type { BigQueryConfig } from '../../server/engine/destinations/bigquery/config.ts';
import { selectFor } from '../../server/engine/formats/select.ts';
import type { Column } from '../../server/engine/models/column.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openBigQueryServer } from '../servers/bigquery_server.ts';
import type { BigQueryServer } from '../servers/bigquery_server.ts';
import type { StoredTable } from '../servers/bigquery_tables.ts';
import { openClickHouseBytes } from '../servers/clickhouse_bytes.ts';

/** What tests of deliveries to BigQuery work with. */
export type BigQueryWorld = {
  server: BigQueryServer;
  deps: DestinationDeps;
  /** A config of a new, empty dataset. */
  freshConfig(changes?: Partial<BigQueryConfig>): BigQueryConfig;
  /** A table of the config's dataset; throws when there is none. */
  tableOf(config: BigQueryConfig, name?: string): StoredTable;
  /** Names of the tables that deliveries make for a while. */
  stagesOf(config: BigQueryConfig): string[];
  /** The Parquet file of rows; `from` is a relation of ClickHouse. */
  fileOf(columns: Column[], from: string): Promise<Buffer>;
  /** Writes a slice: two rows with the uuids `one` and `two`, unless another file is given. */
  write(
    sink: Sink,
    number?: number,
    file?: { bytes: Buffer; records: number },
  ): Promise<SliceOutcome>;
};

/**
 * Opens a server, the guard and a ClickHouse that writes the files; they are closed after the
 * tests.
 */
export async function openBigQueryWorld(): Promise<BigQueryWorld> {
  const server = await openBigQueryServer();
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const clickhouse = openClickHouseBytes();
  after(async () => {
    clickhouse.close();
    await server.close();
    await outbound.close();
  });
  let places = 0;
  const fileOf = (columns: Column[], from: string) =>
    clickhouse.bytes(selectFor({ format: 'Parquet', compression: 'zstd' }, columns), from);
  const uuids = await fileOf(uuid_only, "values('uuid String', 'one', 'two')");
  return {
    server,
    deps: {
      log: silentLog(),
      outbound: server.reroute(outbound),
      export_dir: '/nowhere',
      signal: new AbortController().signal,
      encodeRow: clickhouse.encodeRow,
    },
    freshConfig: (changes = {}) => {
      const dataset_id = `delivery_${(places += 1)}`;
      server.tables(dataset_id);
      return { ...server.account, dataset_id, ...changes };
    },
    tableOf: (config, name = 'events') => {
      const table = server.tables(config.dataset_id).get(name);
      assert.ok(table, name);
      return table;
    },
    stagesOf: (config) =>
      [...server.tables(config.dataset_id).keys()].filter((name) =>
        name.startsWith('sluice_stage_'),
      ),
    fileOf,
    write: async (sink, number = 0, { bytes, records } = { bytes: uuids, records: 2 }) => {
      const written = await sink.write({ number, records }, Readable.from([bytes]));
      return { number, ...written, records, bytes: bytes.length, sha256: '' };
    },
  };
}

/** A delivery of its own. */
export const freshDelivery = (changes: Partial<Delivery> = {}): Delivery =>
  contractDelivery({ columns: uuid_only, ...changes });

/** A manifest with this text. */
export const manifestOf = (text: string): { name: string; text: string } => ({
  name: 'manifest',
  text,
});

/** For `assert.rejects`: a fault of this kind and code, said in a sentence. */
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
