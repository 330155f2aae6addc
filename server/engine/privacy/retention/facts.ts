import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { deliveredOf } from '../../model/ledger/ledger.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import { backfillArea } from '../../exports/planning/backfill_area.ts';
import type { BackfillBy } from '../../exports/planning/backfill_area.ts';
import type { ExportFacts, Facts } from './decide.ts';

/** The stored form, with instants as texts. */
type ExportRow = Omit<
  ExportFacts,
  'planned_until' | 'wanted_from' | 'goes_on' | 'delivered' | 'runs' | 'backfills'
> & {
  planned_until: string;
  next_run_at: string | null;
  wanted_from: string;
};
type RunRow = { batch_export_id: string; selection: StoredRectangle[]; is_open: boolean };
type BackfillRow = {
  batch_export_id: string;
  mode: 'missing' | 'all';
  selects_by: BackfillBy;
  start_at: string;
  end_at: string;
  watermark: string;
  is_open: boolean;
};

/**
 * Reads the deliveries of a project's exports and plugins, and the rows that they still need. With
 * `lock`, it locks the exports and blocks new ones until the transaction ends, so the facts stay
 * true that long.
 */
export async function readFacts(db: Queryable, team_id: number, lock?: 'lock'): Promise<Facts> {
  if (lock !== undefined) {
    await db.row(sql`SELECT 1 FROM projects WHERE id = ${team_id} FOR NO KEY UPDATE`);
    // A fixed lock order avoids deadlocks.
    await db.rows(sql`SELECT 1 FROM batch_exports WHERE team_id = ${team_id} ORDER BY id
      FOR UPDATE`);
  }
  const rows = await listExports(db, team_id);
  const ids = rows.map(({ id }) => id);
  const delivered = await deliveredOf(db, rows);
  const runs = byExport(await listTaken(db, ids));
  const backfills = byExport(await listBackfills(db, ids));
  const plugins = await db.rows<{ name: string; inserted_at: string }>(sql`
    SELECT p.name, cursor.inserted_at FROM plugin_configs c
      JOIN plugin_cursors cursor ON cursor.plugin_config_id = c.id
      JOIN plugins p ON p.id = c.plugin_id
    WHERE c.team_id = ${team_id} AND c.enabled`);
  return {
    exports: rows.map((row) =>
      factsOf(row, delivered.get(row.id), runs.get(row.id), backfills.get(row.id)),
    ),
    plugins: plugins.map(({ name, inserted_at }) => ({ name, from: Date.parse(inserted_at) })),
  };
}

function byExport<Part extends { batch_export_id: string }>(parts: Part[]): Map<string, Part[]> {
  return Map.groupBy(parts, ({ batch_export_id }) => batch_export_id);
}

function factsOf(
  row: ExportRow,
  delivered: Rectangle[] = [],
  runs: RunRow[] = [],
  backfills: BackfillRow[] = [],
): ExportFacts {
  const { planned_until, next_run_at, wanted_from, ...rest } = row;
  return {
    ...rest,
    planned_until: Date.parse(planned_until),
    goes_on: next_run_at !== null,
    wanted_from: Date.parse(wanted_from),
    delivered,
    runs: runs.map(({ selection, is_open }) => ({ area: fromStored(selection), is_open })),
    backfills: backfills.map((backfill) => ({
      is_open: backfill.is_open,
      is_all: backfill.mode === 'all',
      area: [
        backfillArea(
          backfill.selects_by,
          Date.parse(backfill.start_at),
          Date.parse(backfill.end_at),
          Date.parse(backfill.watermark),
        ),
      ],
    })),
  };
}

// The index batch_export_runs_scheduled_unique finds the first scheduled run of the revision.
function listExports(db: Queryable, team_id: number): Promise<ExportRow[]> {
  return db.rows<ExportRow>(sql`
    SELECT e.id, e.name, e.model, e.revision, e.paused, e.custom_query, e.write_rule,
      e.destination_type, e.destination_config, e.planned_until, e.next_run_at,
      least(e.planned_until, (SELECT run.data_interval_start FROM batch_export_runs run
        WHERE run.batch_export_id = e.id AND run.revision = e.revision
          AND run.backfill_id IS NULL AND run.id = run.delivery_id
        ORDER BY run.data_interval_end LIMIT 1)) AS wanted_from
    FROM batch_exports e
    WHERE e.team_id = ${team_id} AND e.deleted_at IS NULL ORDER BY e.created_at, e.id`);
}

// Lists runs in progress, and runs that failed during their commit, which a retry may continue.
// Uses batch_export_runs_taken, which has the same condition.
function listTaken(db: Queryable, export_ids: string[]): Promise<RunRow[]> {
  return db.rows<RunRow>(sql`
    SELECT run.batch_export_id, run.selection, run.status IN ('Starting', 'Running') AS is_open
    FROM batch_export_runs run JOIN batch_exports e ON e.id = run.batch_export_id
    WHERE run.batch_export_id = ANY (${export_ids}::uuid[])
      AND (run.status IN ('Starting', 'Running')
        OR (run.status <> 'Completed' AND run.committing_at IS NOT NULL))
      AND (run.revision = e.revision OR run.status IN ('Starting', 'Running'))`);
}

// Lists backfills in progress and failed ones, which users often request again.
function listBackfills(db: Queryable, export_ids: string[]): Promise<BackfillRow[]> {
  return db.rows<BackfillRow>(sql`
    SELECT b.batch_export_id, b.mode, b.selects_by, b.start_at, b.end_at, b.watermark,
      b.finished_at IS NULL AS is_open
    FROM batch_export_backfills b JOIN batch_exports e ON e.id = b.batch_export_id
    WHERE b.batch_export_id = ANY (${export_ids}::uuid[]) AND b.revision = e.revision
      AND (b.finished_at IS NULL OR b.status = 'Failed')`);
}
