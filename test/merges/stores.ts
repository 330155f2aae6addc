import { zstdCompressSync } from 'node:zlib';
import { createClient } from '@clickhouse/client';
import pg from 'pg';
import { clickhouse } from '../../server/engine/destinations/clickhouse/clickhouse.ts';
import { reachClickHouse } from '../../server/engine/destinations/clickhouse/dialect.ts';
import { identifier } from '../../server/engine/destinations/formats/expression.ts';
import { openMySql } from '../../server/engine/destinations/mysql/dialect.ts';
import { mysql } from '../../server/engine/destinations/mysql/mysql.ts';
import { openPostgres } from '../../server/engine/destinations/postgres/dialect.ts';
import { postgres } from '../../server/engine/destinations/postgres/postgres.ts';
import { tableStatement } from '../../server/engine/destinations/postgres/table.ts';
import type { Dialect } from '../../server/engine/destinations/sql_tables/dialect.ts';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../server/engine/model/destination/destination.ts';
import { destinationDeps } from '../destinations/destination_deps.ts';
import { openTestStores } from '../harness_stores.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { accessTo, poolOf, socketOf } from '../servers/databases/embedded_postgres.ts';
import { openMariaDb } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { Random } from '../chaos/random.ts';
import type { MergedTable } from './model.ts';

/** A new table. Deliveries use the product, or `deliver` if there is one. */
export type MergePlace = {
  definition: DestinationDefinition;
  config: Record<string, unknown>;
  deps: DestinationDeps;
  encode(rows: ValueRow[], columns: Column[]): Buffer;
  speak(): Promise<Dialect>;
  deliver?(table: MergedTable, rows: ValueRow[]): Promise<void>;
  /** Drops the table; the next delivery creates it again. */
  close(): Promise<void>;
};

/** A database for the histories. */
export type MergeStore = {
  name: string;
  open(): Promise<MergePlace>;
  /** Cuts the connection at the next commit, before or after the server has done it. */
  loseCommit(random: Random, reaches: boolean): void;
  loseNothing(): void;
  /** Runs a statement with all rights, if deliveries have fewer. */
  asAdmin?(statement: string): Promise<unknown>;
  close(): Promise<void>;
};

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n' };
const fieldOf = (value: string | null) =>
  value === null ? '\\N' : value.replaceAll(/[\\\t\n]/g, (character) => escapes[character]!);
const linesOf = (rows: ValueRow[]) =>
  rows.map((row) => `${row.map(fieldOf).join('\t')}\n`).join('');

/** Opens an embedded PostgreSQL. With `naive`, it merges as a hasty engineer would. */
export async function openPostgresStore({ naive = false } = {}): Promise<MergeStore> {
  const stores = await openTestStores({ clickhouse: false });
  const pool = poolOf(stores.database_url);
  const door = await openPostgresProxy(socketOf(stores.database_url), { tls: true });
  const deps = destinationDeps();
  let tables = 0;
  return {
    name: naive ? 'naive' : 'PostgreSQL',
    open: async () => {
      const table_name = `merged_${(tables += 1)}`;
      const config = { ...accessTo(stores.database_url, door.port), table_name };
      const mergeOwn = mergingNaively(pool, table_name);
      return {
        definition: postgres as unknown as DestinationDefinition,
        config,
        deps,
        encode: (rows) => Buffer.from(linesOf(rows)),
        speak: () => openPostgres(config, deps),
        ...(naive ? { deliver: mergeOwn } : {}),
        close: async () => void (await pool.query(`DROP TABLE IF EXISTS ${table_name}`)),
      };
    },
    loseCommit: (_random, reaches) => door.commits.strike({ reaches, answer: 'cut' }),
    loseNothing: () => door.commits.strike(undefined),
    close: async () => {
      await pool.end();
      await door.close();
      await deps.outbound.close();
      await stores.close();
    },
  };
}

/** Any greater version wins, NULL is greater than nothing, and an equal row stays. */
function mergingNaively(pool: pg.Pool, name: string): NonNullable<MergePlace['deliver']> {
  let created: Promise<unknown> | undefined;
  return async ({ layout, rule }, rows) => {
    await (created ??= pool.query(tableStatement(name, layout)));
    const names = layout.columns.map((column) => pg.escapeIdentifier(column.name));
    const sets = names.map((column) => `${column} = EXCLUDED.${column}`).join(', ');
    const newer = rule.versions.map((version) => `EXCLUDED.${version} > t.${version}`).join(' OR ');
    for (const row of rows)
      await pool.query(
        `INSERT INTO ${name} AS t VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})
          ON CONFLICT (${rule.key.join(', ')}) DO UPDATE SET ${sets} WHERE ${newer}`,
        row,
      );
  };
}

/** Opens a MariaDB. */
export async function openMySqlStore(): Promise<MergeStore> {
  const server = await openMariaDb();
  const door = await openMySqlProxy(server.port, { tls: false });
  const deps = destinationDeps();
  const admin = await server.admin();
  await admin.query('CREATE DATABASE warehouse');
  let tables = 0;
  return {
    name: 'MariaDB',
    open: async () => {
      const { user, password } = server;
      const table_name = `merged_${(tables += 1)}`;
      const place = { host: '127.0.0.1', port: door.port, database: 'warehouse', table_name };
      const config = { ...place, user, password, require_tls: false };
      return {
        definition: mysql as unknown as DestinationDefinition,
        config,
        deps,
        encode: (rows) => Buffer.from(linesOf(rows)),
        speak: () => openMySql(config, deps),
        close: async () => void (await admin.query(`DROP TABLE IF EXISTS warehouse.${table_name}`)),
      };
    },
    loseCommit: (_random, reaches) => door.commits.strike({ reaches, answer: 'cut' }),
    loseNothing: () => door.commits.strike(undefined),
    asAdmin: (statement) => admin.query(statement),
    close: async () => {
      await admin.end();
      await door.close();
      await server.close();
      await deps.outbound.close();
    },
  };
}

const headerOf = (columns: Column[]) => `${columns.map(({ name }) => name).join('\t')}\n`;

/** The steps of a commit of ClickHouse: the announcement, the rows, and the receipt. */
const receipt = /^INSERT INTO .*sluice_receipts/s;
const showing = /^ALTER TABLE \S+`merged_\d+` ATTACH /;
const commit_steps = [
  { pattern: receipt },
  { pattern: showing },
  { pattern: receipt, follows: showing },
];

/** Opens an embedded ClickHouse. */
export async function openClickHouseStore(): Promise<MergeStore> {
  const stores = await openTestStores({ clickhouse: true });
  const client = createClient({ url: stores.clickhouse_url, log: { level: 127 } });
  const url = new URL(stores.clickhouse_url);
  const door = await openClickHouseProxy(url.origin, { tls: true });
  const deps = destinationDeps();
  const database = `${url.pathname.slice(1)}_merged`;
  await client.command({ query: `CREATE DATABASE ${identifier(database)}` });
  let tables = 0;
  return {
    name: 'ClickHouse',
    open: async () => {
      const table_name = `merged_${(tables += 1)}`;
      const access = { user: url.username, password: decodeURIComponent(url.password) };
      const place = { url: door.url, database, table_name, has_self_signed_cert: true };
      const config = { ...access, ...place };
      return {
        definition: clickhouse as unknown as DestinationDefinition,
        config,
        deps,
        encode: (rows, columns) => zstdCompressSync(`${headerOf(columns)}${linesOf(rows)}`),
        speak: () => reachClickHouse(config, deps),
        close: () =>
          client
            .command({ query: `DROP TABLE IF EXISTS ${identifier(database)}.${table_name} SYNC` })
            .then(() => undefined),
      };
    },
    loseCommit: (random, reaches) =>
      door.strike({ ...random.one(commit_steps), reaches, answer: 'cut' }),
    loseNothing: () => door.strike(undefined),
    asAdmin: (query) => client.command({ query }),
    close: async () => {
      await client.command({ query: `DROP DATABASE ${identifier(database)} SYNC` });
      await client.close();
      await door.close();
      await deps.outbound.close();
      await stores.close();
    },
  };
}
