import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import type { Config } from '../../config/config.ts';
import { tracingOptions } from '../../config/tracing.ts';
import type { Deps } from '../../deps.ts';
import { openQueryBudget } from '../../engine/query/query_budget.ts';
import { openSandbox } from '../../engine/plugins/sandbox/sandbox.ts';
import type { Sandbox } from '../../engine/plugins/sandbox/sandbox.ts';
import { toolsFolder } from '../../engine/plugins/sandbox/tool_library.ts';
import { noteBackgroundMigrations } from '../../platform/background_migrations/files.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import { openInsertPace } from '../../platform/clickhouse/topology/insert_pace.ts';
import { systemClock } from '../../platform/clock.ts';
import { openDns } from '../../platform/dns/dns.ts';
import { openDiskRoom } from '../../platform/disk/disk_room.ts';
import type { DiskRoom } from '../../platform/disk/disk_room.ts';
import { measureStores } from '../../platform/disk/measure_stores.ts';
import type { Logger } from '../../platform/log.ts';
import { keptSecretKeys } from '../../platform/secrets/kept_secret_keys.ts';
import { openMail } from '../../platform/mail/mail.ts';
import { openMetrics } from '../../platform/metrics.ts';
import { outboundOptions, proxiesOf } from '../../config/outbound.ts';
import { openOutbound } from '../../platform/outbound/outbound.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import {
  judgeStandbys,
  notePrimary,
  readStandbys,
  requireVersion,
} from '../../platform/postgres/control_store.ts';
import { migratePostgres, newerMigrations } from '../../platform/postgres/migrate.ts';
import { applicationOf } from '../../platform/postgres/older_processes.ts';
import type { SecretKeys, Secrets } from '../../platform/secrets/secrets.ts';
import { openTracer } from '../../platform/tracing/tracer.ts';
import { openServerSecrets } from '../../platform/secrets/server_keys.ts';
import { version } from '../../platform/version.ts';
import { withEngine } from '../../with_engine.ts';
import { openAnalytics } from '../stores/analytics_store.ts';
import { findLostAnalytics, findLostControl } from '../stores/missing_rows.ts';
import type { Stores } from '../stores/stores.ts';
import { UserError } from '../user_error.ts';
import { waitForStores } from '../stores/wait_for_stores.ts';

/** The migrations of the control store and, in its folder `clickhouse`, of the analytics store. */
export const migrations_folder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/**
 * Migrations of the analytics store that run while the server serves. The folder may be missing.
 */
const background_folder = `${migrations_folder}/clickhouse/background`;

/** The advisory lock under which one process migrates the analytics store at a time. */
const clickhouse_migration_lock = 7_301_002;

/** Interval at which a process checks which server is the primary. */
const primary_watch_ms = 3_000;

/** The opened parts of a process. `close` closes them in the right order. */
export type OpenProcess = { deps: Deps; close(): Promise<void> };

/**
 * The operator confirms the state of a store: the database came from another PostgreSQL and
 * replaces it, or the rows of ClickHouse are lost for good.
 */
export type AcceptedStore = 'postgres' | 'clickhouse';

type Role = 'server' | 'api' | 'worker' | 'command';

/**
 * Opens clients and migrates both stores to this version. `role` is the part of the load that the
 * process carries; the pool's size follows from it.
 */
export async function openProcess(
  config: Config,
  stores: Stores,
  log: Logger,
  role: Role,
  accepts_store?: AcceptedStore,
): Promise<OpenProcess> {
  if (role !== 'command') log.info({ version, node: process.version, role }, 'starting');
  const mail = openMail({ url: config.smtp_url, from: config.mail_from, log, clock: systemClock });
  const db = openControlStore(config, stores, log, role);
  const metrics = openMetrics({ process_metrics: true });
  const clickhouse = openAnalytics(config, stores, {
    application: `sluice-${role}`,
    onReplicaChange: () => metrics.replica_changes.inc(),
    beforeInsert: openInsertPace(db, config.clickhouse_inserts_per_second, (seconds) =>
      metrics.insert_wait_seconds.inc(seconds),
    ),
  });
  let secrets: Secrets;
  try {
    await waitForStores({ db, database_url: stores.database_url, clickhouse }, log);
    await requireVersion(db);
    if (judgeStandbys(await readStandbys(db)) === 'missing')
      log.warn('PostgreSQL waits for a standby that is not connected, so every change waits');
    await migrateStores(db, clickhouse, accepts_store);
    await tellNewer(db, log);
    await notePrimary(db, { accepts: accepts_store === 'postgres' });
    secrets = await openServerSecrets(db, () => secretKeysOf(config));
  } catch (error) {
    await clickhouse.close();
    await db.close();
    throw error;
  }
  const outbound = openOutbound(outboundOptions(config));
  const tracer = openTracer(tracingOptions(config), {
    clock: systemClock,
    log,
    metrics,
    proxies: proxiesOf(config),
  });
  const deps = withEngine({
    config,
    clock: systemClock,
    log,
    db,
    clickhouse,
    secrets,
    outbound,
    dns: openDns({ servers: config.dns_servers, log }),
    mail,
    metrics,
    tracer,
    disk: openDisk(config, { db, clickhouse, log, metrics }),
    query_budget: openQueryBudget(queryMemory(config, stores)),
    sandbox: await openPluginSandbox(config, outbound, log),
  });
  return { deps, close: () => closeParts(deps) };
}

function openControlStore(
  { database_url }: Config,
  stores: Stores,
  log: Logger,
  role: Role,
): Database {
  return openDatabase(stores.database_url, {
    connections_max: role === 'command' ? 4 : 16,
    application_name: applicationOf(role),
    onError: onceASecond((error: Error) =>
      log.warn({ err: error }, 'idle connections to PostgreSQL broke and are replaced'),
    ),
    // The embedded PostgreSQL has no standby.
    watch_ms: database_url === undefined ? undefined : primary_watch_ms,
    onLater: (before, now) =>
      log.warn({ before, now }, 'another PostgreSQL is the primary; connections go there'),
  });
}

async function closeParts(deps: Deps): Promise<void> {
  await deps.sandbox.close();
  await deps.security_log.close();
  await deps.outbox.close();
  await deps.mail.close();
  await deps.tracer?.close();
  await deps.clickhouse.close();
  await deps.db.close();
}

function openPluginSandbox(config: Config, outbound: Outbound, log: Logger): Promise<Sandbox> {
  return openSandbox({
    outbound,
    log,
    clock: systemClock,
    tools_dir: toolsFolder(config.data_dir),
    // Read when a plugin is loaded: the server may not know it before it listens.
    get public_url() {
      return config.public_url;
    },
  });
}

function openDisk(
  config: Config,
  { db, clickhouse, ...tellers }: Pick<Deps, 'db' | 'clickhouse' | 'log' | 'metrics'>,
): DiskRoom {
  const { database_url, clickhouse_url, data_dir, disk_budget_mb, disk_free_mb_min } = config;
  const isEmbedded = database_url === undefined || clickhouse_url === undefined;
  const mebibyte = 1024 * 1024;
  const bounds = {
    budget_bytes: disk_budget_mb * mebibyte,
    free_bytes_min: disk_free_mb_min === undefined ? undefined : disk_free_mb_min * mebibyte,
  };
  const places = {
    db,
    clickhouse,
    folder: isEmbedded ? data_dir : undefined,
    has_own_clickhouse: clickhouse_url !== undefined,
    has_budget: disk_budget_mb > 0,
  };
  return openDiskRoom(() => measureStores(places), bounds, tellers);
}

/** When a server stops, all its connections break at once; only the first is logged. */
function onceASecond<Given>(tell: (given: Given) => void): (given: Given) => void {
  let told_ms = -Infinity;
  return (given) => {
    if (performance.now() - told_ms < 1_000) return;
    told_ms = performance.now();
    tell(given);
  };
}

async function migrateStores(
  db: Database,
  clickhouse: ClickHouse,
  accepts_store: AcceptedStore | undefined,
): Promise<void> {
  const lost_control = await findLostControl(db, clickhouse);
  if (lost_control !== undefined) throw new UserError(lost_control);
  await migratePostgres(db, migrations_folder);
  const lost = await findLostAnalytics(db, clickhouse);
  if (lost !== undefined && accepts_store !== 'clickhouse') throw new UserError(lost);
  await db.transaction(async (tx) => {
    // This transaction is idle for as long as ClickHouse works. Keepalives of PostgreSQL find a
    // dead client, so that its lock does not block the start of others.
    await tx.text(
      'SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL tcp_keepalives_idle = 30; ' +
        'SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3',
    );
    await tx.row(sql`SELECT pg_advisory_xact_lock(${clickhouse_migration_lock})`);
    await migrateClickHouse(clickhouse, `${migrations_folder}/clickhouse`);
  });
  await noteBackgroundMigrations(db, background_folder);
}

/** An older process continues beside a newer release that only made additions, and logs it. */
async function tellNewer(db: Database, log: Logger): Promise<void> {
  const newer = await newerMigrations(db, migrations_folder);
  if (newer.length === 0) return;
  log.warn(
    { version, newer },
    'a newer release has migrated the database, and this release can work beside it: update ' +
      'this process, unless you roll back on purpose',
  );
}

/** Returns the accepted secret keys, from the settings or the data folder. */
export function secretKeysOf({ secret_key, previous_secret_keys, data_dir }: Config): SecretKeys {
  return secret_key === undefined
    ? keptSecretKeys(data_dir)
    : [secret_key, ...previous_secret_keys];
}

/**
 * Memory that custom queries leave for everything else: enough for ingestion and for exports
 * without a query.
 */
function queryMemory(
  { query_memory_total_mb }: Config,
  { clickhouse_memory_bytes }: Stores,
): number {
  return Math.min(
    query_memory_total_mb * 1024 * 1024,
    Math.floor((clickhouse_memory_bytes ?? Infinity) * 0.6),
  );
}
