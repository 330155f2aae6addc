import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type pg from 'pg';
import type {
  CheckStep,
  Delivery,
  DestinationDefinition,
  DestinationDeps,
  SliceOutcome,
} from '../../../server/engine/model/destination/destination.ts';
import {
  NonRetryableError,
  RetryableError,
} from '../../../server/engine/model/destination/errors.ts';
import type { Column } from '../../../server/engine/model/models/column.ts';
import { contractColumns, parseExact } from './contract_rows.ts';

/** The one column `uuid`. */
export const uuid_only: Column[] = [
  { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
];

/** A new delivery with the contract's columns, with these changes. */
export function freshDelivery(changes: Partial<Delivery> = {}): Delivery {
  const run_id = randomUUID();
  return {
    delivery_id: run_id,
    run_id,
    attempt: 1,
    batch_export_id: randomUUID(),
    team_id: 7,
    model: 'events',
    data_interval_start: '2015-09-12T00:00:00Z',
    data_interval_end: '2015-09-12T01:00:00Z',
    timezone: 'UTC',
    columns: contractColumns,
    ...changes,
  };
}

/** The outcome of a first slice with this many rows, for tests that only read their number. */
export const outcomeOf = (records: number): SliceOutcome => ({
  number: 0,
  name: 'x',
  records,
  bytes: 0,
  sha256: '',
  state: null,
});

/** The manifest of a delivery, for tests that only check that there is one. */
export const manifest = { name: 'manifest', text: '{}' };

/** The parts of a delivery besides its destination. */
type Way = { config: Record<string, unknown>; delivery: Delivery; deps: DestinationDeps };

/** Delivers lines of tab-separated text as the last slice. */
export async function deliverText(
  definition: DestinationDefinition,
  { config, delivery, deps }: Way,
  text: string,
): Promise<void> {
  const records = text.split('\n').length - 1;
  const sink = await definition.open(config, delivery, deps);
  try {
    const written = await sink.write(
      { number: 0, records, is_last: true },
      Readable.from([Buffer.from(text)]),
    );
    await sink.commit(
      [{ number: 0, records, bytes: Buffer.byteLength(text), sha256: '', ...written }],
      manifest,
    );
  } finally {
    await sink.close();
  }
}

/** Returns true if an error has this code and is retried. */
export const isPassing = (code: string) => (error: unknown) =>
  error instanceof RetryableError && error.code === code;

/** Returns true if an error has this code and is final. */
export const isLasting = (code: string) => (error: unknown) =>
  error instanceof NonRetryableError && error.code === code;

/** Fails unless it is the known fault with this code, and retried or final as expected. */
export function assertFault(
  error: unknown,
  isRetryable: boolean,
  code: string,
  name: string,
): void {
  assert.ok(
    isRetryable ? error instanceof RetryableError : error instanceof NonRetryableError,
    name,
  );
  assert.equal((error as RetryableError).code, code, name);
}

/** Returns the detail of the failed step of a connection test, or `passed`. */
export const failureIn = (steps: CheckStep[]): string =>
  steps.find(({ status }) => status === 'failed')?.detail ?? 'passed';

/**
 * Fails unless a connection test failed while it read its row again, with a sentence that names
 * exactly these columns, in order.
 */
export function assertChanged(steps: CheckStep[], columns: string[]): void {
  const { name, detail } = steps.find(({ status }) => status === 'failed') ?? {
    name: 'none',
    detail: '',
  };
  assert.equal(name, 'Read it back', `${columns.join()}: ${detail}`);
  const named = / changes values of the columns (.+ came back\)).+\.$/
    .exec(detail)?.[1]
    ?.split(/ came back\)(?:, |$)/);
  assert.deepEqual(
    named?.slice(0, -1).map((one) => /^(.+) \(.+ was written, /.exec(one)?.[1]),
    columns,
    detail,
  );
}

/** A row of the model `persons` as tab-separated text. */
export const personLine = (
  distinct_id: string,
  version: number,
  mapping: number,
  name: string,
): string =>
  `7\t${distinct_id}\t018f0000-0000-7000-8000-000000000001\t{"name":"${name}"}\t${mapping}\t` +
  `${version}\t2020-01-01T00:00:00.000000Z\tfalse\t2020-01-01T00:00:00.000000Z\n`;

/**
 * Two deliveries of persons. Each version is higher in one field and lower in the other: distinct
 * id, version, mapping and name. The first field that differs decides.
 */
export const rival_deliveries: [string, number, number, string][][] = [
  [
    ['x', 2, 1, 'first'],
    ['y', 1, 2, 'early'],
    ['z', 2, 1, 'higher'],
    ['z', 1, 2, 'lower'],
  ],
  [
    ['x', 1, 2, 'second'],
    ['y', 2, 1, 'late'],
  ],
];

/** Each person of `rival_deliveries` with the final name in a table. */
export const rivals_left = ['x first', 'y late', 'z higher'];

/** Names of the tables of a schema of PostgreSQL, in order. */
export async function tablesIn(pool: pg.Pool, schema: unknown): Promise<string[]> {
  const found = await pool.query<{ name: string }>(
    'SELECT relname AS name FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace ' +
      "WHERE nspname = $1) AND relkind = 'r'",
    [schema],
  );
  return found.rows.map((row) => row.name).sort();
}

/**
 * Returns the rows of a table of PostgreSQL with the contract's columns, in the order in which they
 * were written and in the form of `expectedRow`.
 */
export async function readContractRows(
  pool: pg.Pool,
  table: string,
): Promise<Record<string, unknown>[]> {
  const day_and_time = `to_char(timestamp, 'YYYY-MM-DD HH24:MI:SS.US')`;
  const instant = `replace(${day_and_time}, ' ', 'T') || 'Z' AS timestamp`;
  const found = await pool.query(
    `SELECT uuid, event, properties::text, note, ${instant}, amount::text, ratio, is_new
      FROM ${table} ORDER BY ctid`,
  );
  return found.rows.map((row: Record<string, unknown>) => ({
    ...row,
    properties: parseExact(String(row['properties'])),
  }));
}

/** Returns ways to damage the contract's rows in PostgreSQL; `tableOf` names their table. */
export function damageIn(
  pool: () => pg.Pool,
  tableOf: (config: Record<string, unknown>) => string,
) {
  const change =
    (statement: (table: string) => string) => async (config: Record<string, unknown>) =>
      void (await pool().query(statement(tableOf(config))));
  return {
    changed: change((table) => `INSERT INTO ${table} SELECT * FROM ${table} LIMIT 1`),
    value: change(
      (table) =>
        `UPDATE ${table} SET event = 'plane', properties = '{"a": 2}' WHERE event = 'plain'`,
    ),
    missing: change(
      (table) => `DELETE FROM ${table} WHERE ctid = (SELECT min(ctid) FROM ${table})`,
    ),
    added: change((table) => `INSERT INTO ${table} (uuid) VALUES ('stranger')`),
  };
}
