import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { readBackgroundMigrations } from '../../platform/background_migrations/files.ts';
import { partitionsOf } from '../../platform/background_migrations/store.ts';
import type { Config } from '../../config/config.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { newerMigrations, pendingMigrations } from '../../platform/postgres/migrate.ts';
import { version } from '../../platform/version.ts';
import { lookAtBackground } from './background_findings.ts';
import { fault, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';
import {
  aboutText,
  analyticsSeconds,
  analyticsTablesRead,
  bytesText,
  costsOf,
  secondsOf,
} from './migration_costs.ts';
import { openAnalyticsAsIs } from '../stores/analytics_store.ts';
import { hasTable as hasAnalyticsTable } from '../stores/ask.ts';
import { findLostAnalytics, findLostControl } from '../stores/missing_rows.ts';
import type { Stores } from '../stores/stores.ts';
import { counted } from '../../platform/counted.ts';

/** The description of a pending migration, and its duration. */
type Told = { text: string; seconds: number };

/**
 * Reports the changes that the next start of this release makes to both stores: a finding for each
 * migration with its purpose, tables and duration; undefined if there is none. Rejects with
 * `SchemaTooNewError` if this release cannot work. Changes nothing.
 */
export async function lookAtSchema(
  config: Pick<Config, 'clickhouse_cluster'>,
  stores: Stores,
  folder: string,
): Promise<Finding[] | undefined> {
  const options = { connections_max: 1, application_name: 'sluice-doctor' };
  const db = openDatabase(stores.database_url, options);
  const clickhouse = await openAnalyticsAsIs(config, stores, { application: 'sluice-doctor' });
  try {
    const control = await pendingMigrations(db, folder);
    const lost_control = await findLostControl(db, clickhouse);
    if (lost_control !== undefined) return [fault('stores', lost_control)];
    if (!(await hasTable(db, 'migrations')))
      return [ok('schema', 'the stores are empty; the first start fills them')];
    const lost = (await hasTable(db, 'ingestion_states'))
      ? await findLostAnalytics(db, clickhouse)
      : undefined;
    if (lost !== undefined) return [fault('stores', lost)];
    const told: Told[] = [];
    for (const { name, purpose, text } of control)
      told.push(await tellControl(db, `${name}: ${purpose}`, text));
    const analytics = join(folder, 'clickhouse');
    for (const name of await pendingAnalytics(clickhouse, analytics))
      told.push(await tellAnalytics(clickhouse, name, readFileSync(join(analytics, name), 'utf8')));
    const background = await pendingBackground(db, clickhouse, join(analytics, 'background'));
    const newer = await newerMigrations(db, folder);
    if (newer.length > 0) return [newerFinding(newer)];
    if (told.length + background.length === 0) return undefined;
    const running = (await hasTable(db, 'background_migrations')) ? await lookAtBackground(db) : [];
    return [
      ...told.map(({ text }) => warning('migration', text)),
      ...background.map((text) => warning('migration', text)),
      ...running,
      summary(told, background.length),
    ];
  } finally {
    await clickhouse.close();
    await db.close();
  }
}

function newerFinding(newer: Awaited<ReturnType<typeof newerMigrations>>): Finding {
  const { name, release } = newer.at(-1)!;
  return warning(
    'schema',
    `The database was brought to ${release ?? 'a newer release'} (migration ${name}); this is ` +
      `Sluice ${version}, which can work beside it. Run the newer one, unless you are going back.`,
  );
}

function summary(told: Told[], background: number): Finding {
  const count = told.length + background;
  const seconds = told.reduce((sum, one) => sum + one.seconds, 0);
  return warning(
    'schema',
    `${count === 1 ? 'One migration' : `${count} migrations`} to Sluice ${version} will be ` +
      'applied at its next start, each whole or not at all. That start takes ' +
      `${aboutText(seconds)} longer, by the bytes of the tables that are gone through and what ` +
      'two cores do of them in a second; those in the background keep nobody waiting. Create a ' +
      'backup first; exports and people are looked at after it.',
  );
}

async function hasTable(db: Database, table: string): Promise<boolean> {
  return (await db.row(sql`SELECT 1 WHERE to_regclass(${table}) IS NOT NULL`)) !== undefined;
}

/**
 * Lists the existing tables that the text changes, indexes or fills, and how long it locks them.
 */
async function tellControl(db: Database, begin: string, text: string): Promise<Told> {
  const statements = text.replaceAll(/--.*$/gm, '');
  const named = [
    ...statements.matchAll(
      /\b(?:ALTER TABLE(?: IF EXISTS)?|UPDATE|DELETE FROM|INDEX\s+(?:IF NOT EXISTS\s+)?\w+\s+ON)\s+(\w+)/gi,
    ),
  ].map(([, table]) => table!.toLowerCase());
  const rows = await db.rows<{ name: string; count: number; bytes: number }>(sql`
    SELECT relname AS name, greatest(reltuples, 0)::float8 AS count,
      pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
    WHERE relkind = 'r' AND relname = ANY (${[...new Set(named)]}::text[])
      AND relnamespace = current_schema()::regnamespace ORDER BY reltuples DESC, relname`);
  const seconds = secondsOf(costsOf(text), new Map(rows.map(({ name, bytes }) => [name, bytes])));
  const tables = rows.map(
    ({ name, count, bytes }) => `${name} (${counted(count, 'row')}, ${bytesText(bytes)})`,
  );
  const cost = rows.length === 0 ? '' : `; locks ${tables.join(', ')} for ${aboutText(seconds)}`;
  return { text: `${begin}${cost}.`, seconds };
}

/** Returns the files that the analytics store has not applied yet. */
async function pendingAnalytics(clickhouse: ClickHouse, folder: string): Promise<string[]> {
  const query = 'SELECT name FROM migrations';
  const applied = (await hasAnalyticsTable(clickhouse, 'migrations'))
    ? await caughtUp(clickhouse, ['migrations'], () => clickhouse.rows<{ name: string }>({ query }))
    : [];
  const known = new Set(applied.map(({ name }) => name));
  const names = readdirSync(folder).filter((name) => /^\d{4}_.+\.sql$/.test(name));
  return names.filter((name) => !known.has(name)).sort();
}

async function tellAnalytics(clickhouse: ClickHouse, name: string, text: string): Promise<Told> {
  const tables = analyticsTablesRead(text);
  const purpose = (/^--\s?([^.]*)/.exec(text.replaceAll(/\n--\s?/g, ' '))?.[1] ?? '').trim();
  const begin = `ClickHouse ${name}: ${purpose}`;
  if (tables.length === 0) return { text: `${begin}; no row is rewritten.`, seconds: 0 };
  const sizes = await sizesOf(clickhouse, tables);
  const seconds = analyticsSeconds(sizes.reduce((sum, { bytes }) => sum + bytes, 0));
  const told = sizes.map(({ told: one }) => one).join(', ');
  return { text: `${begin}; goes through ${told}, ${aboutText(seconds)}.`, seconds };
}

async function sizesOf(clickhouse: ClickHouse, tables: string[]) {
  return Promise.all(
    tables.map(async (table) => {
      const found = await partitionsOf(clickhouse, table);
      const sum = (column: 'rows' | 'bytes') => found.reduce((all, one) => all + one[column], 0);
      const rows = counted(sum('rows'), 'row');
      return { bytes: sum('bytes'), told: `${table} (${rows}, ${bytesText(sum('bytes'))})` };
    }),
  );
}

/** Describes the background work that the next start registers. */
async function pendingBackground(
  db: Database,
  clickhouse: ClickHouse,
  folder: string,
): Promise<string[]> {
  const files = readBackgroundMigrations(folder);
  if (files.length === 0) return [];
  const noted = (await hasTable(db, 'background_migrations'))
    ? await db.rows<{ name: string }>(sql`SELECT name FROM background_migrations`)
    : [];
  const known = new Set(noted.map(({ name }) => name));
  const left = files.filter(({ name }) => !known.has(name));
  return Promise.all(
    left.map(async ({ name, purpose, table_name }) => {
      const [size] = await sizesOf(clickhouse, [table_name]);
      const time = aboutText(analyticsSeconds(size!.bytes));
      return (
        `ClickHouse ${name}: ${purpose}; goes through ${size!.told} in the background, ${time}, ` +
        'while the server serves.'
      );
    }),
  );
}
