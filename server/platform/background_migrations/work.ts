import sql from 'sql-template-tag';
import type { ClickHouse } from '../clickhouse/client.ts';
import { caughtUp } from '../clickhouse/topology/caught_up.ts';
import type { DiskRoom } from '../disk/disk_room.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Database, Transaction } from '../postgres/database.ts';
import { showBackgroundMigrations } from './standing.ts';
import { askedMutation, killMutation, openMutation, partitionsOf, storeInstant } from './store.ts';

/** The parts of a process that the work uses. */
export type BackgroundWork = {
  db: Database;
  clickhouse: ClickHouse;
  disk: Pick<DiskRoom, 'isFull'>;
  log: Logger;
  metrics: Metrics;
};

type Migration = {
  name: string;
  table_name: string;
  statement: string;
  detail: string | null;
  started_at: string | null;
};

type Partition = { partition: string; parts: number; started_at: string | null };

/** Pause before the next try after the store failed. */
const again_seconds = 300;

/**
 * Continues the oldest unfinished migration: one partition at a time, so that the store has room
 * for everything else. Returns when it has to wait. Guarantees: a kill at any point, of a process
 * or of the store, loses nothing. Requested work is awaited and not requested again. Several
 * processes never do the same work at once.
 */
export async function workBackgroundMigrations(
  work: BackgroundWork,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await goOn(work, signal)));
  await showBackgroundMigrations(work);
}

/** Does one step, recorded before the next one begins; false if it has to wait. */
async function goOn(work: BackgroundWork, signal: AbortSignal): Promise<boolean> {
  return work.db.transaction(async (tx) => {
    // The working process holds the row lock; after a kill, nobody does.
    const migration = await tx.row<Migration>(sql`
      SELECT name, table_name, statement, detail, started_at FROM background_migrations
      WHERE name = (SELECT min(name) FROM background_migrations WHERE finished_at IS NULL)
        AND (try_again_at IS NULL OR try_again_at <= now()) FOR UPDATE SKIP LOCKED`);
    if (migration === undefined) return false;
    if (migration.started_at === null) return begin(tx, work, migration, signal);
    const partition = await tx.row<Partition>(sql`
      SELECT partition, parts, started_at FROM background_migration_partitions
      WHERE name = ${migration.name} AND finished_at IS NULL ORDER BY partition LIMIT 1`);
    if (partition === undefined) return end(tx, work, migration);
    if (partition.started_at === null) {
      if (work.disk.isFull()) {
        const detail =
          'Waits for free space on the disk, because a rewritten partition needs space of ' +
          'its own.';
        await tell(tx, migration, detail);
        return false;
      }
      // Recorded before the request: after a kill, the next process looks for mutations that are
      // not older.
      await tx.run(sql`UPDATE background_migration_partitions
        SET started_at = ${await storeInstant(work.clickhouse, signal)}
        WHERE name = ${migration.name} AND partition = ${partition.partition}`);
      return true;
    }
    const { started_at } = partition;
    return followPartition(tx, work, migration, { ...partition, started_at }, signal);
  });
}

async function begin(
  tx: Transaction,
  { clickhouse, log }: BackgroundWork,
  { name, table_name }: Migration,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await caughtUp(clickhouse, [table_name], () =>
    partitionsOf(clickhouse, table_name, signal),
  );
  await tx.run(sql`
    INSERT INTO background_migration_partitions (name, partition, rows, bytes, parts)
    SELECT ${name}, one.partition, one.rows, one.bytes, one.parts
    FROM jsonb_to_recordset(${JSON.stringify(found)}::jsonb)
      AS one (partition text, rows bigint, bytes bigint, parts integer)`);
  await tx.run(sql`UPDATE background_migrations SET started_at = now() WHERE name = ${name}`);
  if (found.length > 0)
    log.info({ migration: name, partitions: found.length }, 'a background migration begins');
  return true;
}

async function end(
  tx: Transaction,
  { log }: BackgroundWork,
  { name }: Migration,
): Promise<boolean> {
  await tx.run(sql`UPDATE background_migrations
    SET finished_at = now(), detail = NULL, is_failing = false WHERE name = ${name}`);
  const had_rows = await tx.row(
    sql`SELECT 1 FROM background_migration_partitions WHERE name = ${name}`,
  );
  if (had_rows !== undefined) log.info({ migration: name }, 'a background migration is done');
  return true;
}

/** Requests a partition from the store, or checks its progress. */
async function followPartition(
  tx: Transaction,
  work: BackgroundWork,
  migration: Migration,
  { partition, parts, started_at }: Partition & { started_at: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { clickhouse } = work;
  const { table_name, statement } = migration;
  const wanted = { table_name, statement, partition, since: started_at };
  const asked = await askedMutation(clickhouse, wanted, signal);
  if (asked === undefined) {
    const refusal = await openMutation(clickhouse, migration, partition, signal);
    await (refusal === undefined
      ? tell(tx, migration, null)
      : tellFailure(tx, work, migration, refusal));
    return false;
  }
  if (asked.reason !== '') {
    await killMutation(clickhouse, wanted, signal);
    await tellFailure(tx, work, migration, asked.reason);
    return false;
  }
  const parts_left = asked.is_done ? 0 : Math.min(parts, asked.parts_to_do);
  await tx.run(sql`UPDATE background_migration_partitions SET parts_left = ${parts_left},
    finished_at = CASE WHEN ${asked.is_done}::boolean THEN now() END
    WHERE name = ${migration.name} AND partition = ${partition}`);
  await tell(tx, migration, null);
  return asked.is_done;
}

async function tell(tx: Transaction, { name }: Migration, detail: string | null): Promise<void> {
  await tx.run(sql`UPDATE background_migrations
    SET detail = ${detail}, is_failing = false, try_again_at = NULL
    WHERE name = ${name} AND (is_failing OR detail IS DISTINCT FROM ${detail})`);
}

async function tellFailure(
  tx: Transaction,
  { log }: BackgroundWork,
  { name, detail }: Migration,
  reason: string,
): Promise<void> {
  const told = `The store cannot: ${reason}`;
  if (told !== detail) log.error({ migration: name, reason }, 'a background migration fails');
  await tx.run(sql`UPDATE background_migrations SET detail = ${told}, is_failing = true,
    try_again_at = now() + make_interval(secs => ${again_seconds}) WHERE name = ${name}`);
}
