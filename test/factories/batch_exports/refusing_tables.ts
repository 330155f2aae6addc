import type pg from 'pg';
import { verifyExports } from '../../../server/engine/exports/verification/verify_exports.ts';
import type { PostgresConfig } from '../../../server/engine/destinations/postgres/config.ts';
import type { PostgresServer } from '../../servers/databases/postgres_destination.ts';
import type { QueryHarness } from './query_exports.ts';
import { eventsWith, longText, refused_query, refusing_columns } from './rejected_rows.ts';

/** Why a table refuses rows, and which. */
export type Refusing = {
  /** Returns the statements that make the table refuse rows. */
  statements: (table: string) => string[];
  refused: { event?: string; distinct_id?: string }[];
  code: string;
  reason: RegExp;
};

const partitioned = (table: string) => [
  `CREATE TABLE ${table} (${refusing_columns}) PARTITION BY RANGE (event)`,
  `CREATE TABLE ${table}_good PARTITION OF ${table} FOR VALUES FROM ('good') TO ('h')`,
];
const created = (table: string) => `CREATE TABLE ${table} (${refusing_columns})`;
const deferred = (table: string) => [
  created(table),
  `CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN IF NEW.event = 'bad' THEN RAISE 'no bad events'; END IF; RETURN NULL; END$$`,
  `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION ${table}_refuse()`,
];

/** Tables of PostgreSQL that refuse rows, by what refuses them. */
export const refusing: Record<string, Refusing> = {
  'a CHECK constraint': {
    statements: (table) => [created(table), `ALTER TABLE ${table} ADD CHECK (event <> 'bad')`],
    refused: [{ event: 'bad' }, { event: 'bad' }],
    code: 'constraint_violated',
    reason: /violates check constraint/,
  },
  'an index that a long value does not fit': {
    statements: (table) => [created(table), `CREATE INDEX ON ${table} (distinct_id)`],
    refused: [{ distinct_id: longText(9_000) }],
    code: 'limit_exceeded',
    reason: /index row/,
  },
  'a missing partition': {
    statements: partitioned,
    refused: [{ event: 'bad' }, { event: 'zebra' }, { event: 'apple' }],
    code: 'constraint_violated',
    reason: /no partition of relation/,
  },
  'a length': {
    statements: (table) => [created(table), `ALTER TABLE ${table} ALTER event TYPE varchar(20)`],
    refused: [{ event: 'an event with a long name' }],
    code: 'value_refused',
    reason: /value too long/,
  },
  'a constraint that is checked with the commit': {
    statements: deferred,
    refused: [{ event: 'bad' }],
    code: 'constraint_violated',
    reason: /no bad events/,
  },
};

/** Returns the number of rows in a table. */
export const countOf = async (pool: pg.Pool, table: string): Promise<number> =>
  Number((await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]!.n);

/** The result of `foundAt` for an export whose table and rejected rows are correct. */
export const right = { fault: null, differences: [], notes: [] };

/** Returns the findings of `verify` for an export. */
export async function foundAt({ harness }: QueryHarness, id: string) {
  const [finding] = await verifyExports(harness.deps.engine, id);
  return { fault: finding!.fault, differences: finding!.differences, notes: finding!.notes };
}

/** A table in a new schema, and a config for it. */
export async function prepareTable(
  { pool, freshConfig }: Pick<PostgresServer, 'pool' | 'freshConfig'>,
  statements: Refusing['statements'],
) {
  const config = await freshConfig();
  const table = `${config.schema}.events`;
  for (const statement of statements(table)) await pool.query(statement);
  return { config, table, pool };
}

/** An export of two hours to a table that refuses some rows of the first one, which has 40 more. */
export async function refusedExport(
  exporting: QueryHarness,
  config: PostgresConfig,
  refused: Refusing['refused'],
  body: Record<string, unknown> = { rejected_rows: 'set_aside' },
) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [...eventsWith(0, 40, refused), ...eventsWith(1, 3, [])]);
  const destination = { type: 'Postgres', config };
  const wanted = { destination, custom_query: refused_query, ...body };
  return { home, ...(await exporting.scheduled(home, wanted, 2)) };
}
