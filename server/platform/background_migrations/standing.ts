import sql from 'sql-template-tag';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../postgres/database.ts';

/** Progress of a migration. `seconds` is the total time of its finished partitions. */
export type BackgroundStanding = {
  name: string;
  purpose: string;
  detail: string | null;
  is_failing: boolean;
  started_at: string | null;
  finished_at: string | null;
  partitions: number;
  partitions_done: number;
  bytes: number;
  /** Bytes of the current partition, by the share of its finished parts. */
  bytes_done: number;
  seconds: number;
};

/** Lists the progress of all recorded background migrations, oldest first. */
export async function listBackgroundMigrations(db: Database): Promise<BackgroundStanding[]> {
  const done = sql`sum(CASE WHEN part.finished_at IS NOT NULL THEN part.bytes
    WHEN part.parts_left IS NULL THEN 0
    ELSE part.bytes * (1 - part.parts_left::float8 / greatest(part.parts, 1)) END)`;
  return db.rows<BackgroundStanding>(sql`
    SELECT migration.name, min(purpose) AS purpose, min(detail) AS detail,
      bool_or(is_failing) AS is_failing, min(migration.started_at) AS started_at,
      min(migration.finished_at) AS finished_at, count(part.partition)::int AS partitions,
      count(part.finished_at)::int AS partitions_done,
      coalesce(sum(part.bytes), 0)::float8 AS bytes,
      coalesce(${done}, 0)::float8 AS bytes_done,
      coalesce(sum(extract(epoch FROM coalesce(part.finished_at, now()) - part.started_at)),
        0)::float8 AS seconds
    FROM background_migrations migration
      LEFT JOIN background_migration_partitions part ON part.name = migration.name
    GROUP BY migration.name ORDER BY migration.name`);
}

/** Shows the progress of unfinished ones, and their failures, as metrics. */
export async function showBackgroundMigrations({
  db,
  metrics,
}: {
  db: Database;
  metrics: Metrics;
}): Promise<void> {
  const { background_migration_ratio: ratio, background_migrations_failing: failing } = metrics;
  const open = (await listBackgroundMigrations(db)).filter((one) => one.finished_at === null);
  ratio.reset();
  for (const { name, bytes, bytes_done } of open)
    ratio.set({ name }, bytes === 0 ? 0 : bytes_done / bytes);
  failing.set(open.filter(({ is_failing }) => is_failing).length);
}
