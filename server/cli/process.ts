import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { engineOf } from '../api/batch_exports/engine.ts';
import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Engine } from '../engine/engine.ts';
import { openQueryBudget } from '../engine/query_budget.ts';
import { openQueue } from '../engine/queue.ts';
import type { Queue } from '../engine/queue.ts';
import { openClickHouse } from '../platform/clickhouse/client.ts';
import { migrateClickHouse } from '../platform/clickhouse/migrate.ts';
import { systemClock } from '../platform/clock.ts';
import { keptSecretKey } from '../platform/data_folder.ts';
import { openDns } from '../platform/dns/dns.ts';
import type { Logger } from '../platform/log.ts';
import { openMail } from '../platform/mail.ts';
import { openMetrics } from '../platform/metrics.ts';
import { openOutbound } from '../platform/outbound.ts';
import { openDatabase } from '../platform/postgres/database.ts';
import { migratePostgres } from '../platform/postgres/migrate.ts';
import { openSecrets } from '../platform/secrets.ts';
import type { Stores } from './stores.ts';
import { waitForStores } from './wait_for_stores.ts';

/** The migrations of the control store and, in its folder `clickhouse`, of the analytics store. */
const migrations_folder = fileURLToPath(new URL('../../migrations', import.meta.url));

/** The advisory lock under which one process migrates the analytics store at a time. */
const clickhouse_migration_lock = 7_301_002;

/** Everything that a process needs, opened; `close` gives it back in the right order. */
export type OpenProcess = { deps: Deps; engine: Engine; queue: Queue; close(): Promise<void> };

/**
 * Opens clients, migrates both stores to this version and starts the queue. `role` says which part of the load the process carries: pools are sized
 * by it, and only a worker looks for dead workers.
 */
export async function openProcess(config: Config, stores: Stores, log: Logger, role: 'server' | 'api' | 'worker' | 'command'): Promise<OpenProcess> {
  const secrets = openSecrets(config.secret_key ?? keptSecretKey(config.data_dir));
  const mail = openMail({ url: config.smtp_url, from: config.mail_from, log, clock: systemClock });
  const db = openDatabase(stores.database_url, {
    connections_max: role === 'command' ? 4 : 16,
    application_name: `sluice-${role}`,
    onError: (error) => log.warn({ err: error }, 'an idle connection to PostgreSQL broke and is replaced'),
  });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: `sluice-${role}` });
  try {
    await waitForStores(db, clickhouse, log);
  } catch (error) {
    await clickhouse.close();
    await db.close();
    throw error;
  }
  await migratePostgres(db, migrations_folder);
  await db.transaction(async (tx) => {
    // This transaction is idle while ClickHouse works, for as long as that takes.
    await tx.text('SET LOCAL idle_in_transaction_session_timeout = 0');
    await tx.row(sql`SELECT pg_advisory_xact_lock(${clickhouse_migration_lock})`);
    await migrateClickHouse(clickhouse, `${migrations_folder}/clickhouse`);
  });
  const queue = await openQueue(stores.database_url, { supervise: role === 'server' || role === 'worker', log });
  const outbound = openOutbound({ allow: config.outbound_allow });
  const metrics = openMetrics({ process_metrics: true });
  const deps: Deps = {
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
    query_budget: openQueryBudget(queryMemory(config, stores)),
    jobs: queue.jobs,
  };
  return {
    deps,
    engine: engineOf(deps),
    queue,
    close: async () => {
      await queue.close(5_000);
      await mail.close();
      await clickhouse.close();
      await db.close();
    },
  };
}

/** What the queries of tenants leave for everything else is enough that ingestion and exports without a query go on beside them. */
function queryMemory({ query_memory_total_mb }: Config, { clickhouse_memory_bytes }: Stores): number {
  return Math.min(query_memory_total_mb * 1024 * 1024, Math.floor((clickhouse_memory_bytes ?? Infinity) * 0.6));
}
