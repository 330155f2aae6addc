import sql, { raw } from 'sql-template-tag';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { break_offs_alone } from '../runs/worker_crashes.ts';
import { remembered_attempts_max } from '../../model/run.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { schema_number, typed_fields } from '../../model/schema/run_columns.ts';

/** Bounds on concurrent runs over all workers: of one project, and to one host. */
export type RunBounds = { project_runs_max: number; host_runs_max: number };

/** A worker that asks for runs. */
export type Claimant = {
  worker_id: string;
  /** Its runs whose destination shows no progress: they occupy no slot. */
  stalled_run_ids: string[];
  /**
   * The runs that it is working on. Its other claims never began or have crashed, and are released.
   */
  run_ids: string[];
  /** The project that it served last; the next ones come first. */
  last_team_id: number;
};

/**
 * Returns the number of a worker's slots that a run occupies. A small run mostly waits for the
 * control store and its destination, so several share a slot and their statements.
 */
export function slotsOf({ is_small }: { is_small: boolean }): number {
  return is_small ? 0.25 : 1;
}

/**
 * The advisory lock that lets one worker claim at a time, so that its counts stay true until it has
 * claimed.
 */
const claim_lock = 7_301_020;

/**
 * A run that crashed is not claimed again at once, so that an immediate crash does not keep a
 * worker busy.
 */
const broken_off_pause_seconds = 2;

/**
 * Step of the attempt number when another primary claims a run: it may lack claims with the next
 * numbers, whose workers may still live.
 */
const epoch_step = 100;

/**
 * Claims waiting runs for the free `slots` (`slotsOf`). Guarantees: no project and no host exceeds
 * its bound of concurrent runs over all workers. Projects take turns, the longest waiting run of
 * each first, so that no project delays another. The claimant's stalled runs free their share of
 * the project's bound, up to twice the bound. A run that may not start yet occupies no slot. A run
 * that crashed `break_offs_alone` times is alone in its worker until it makes progress.
 */
export async function claimRuns(
  db: Database,
  claimant: Claimant,
  bounds: RunBounds,
  slots: number,
): Promise<ClaimedRun[]> {
  return db.transaction(async (tx) => {
    await tx.row(sql`SELECT pg_advisory_xact_lock(${claim_lock})`);
    await tx.run(sql`
      UPDATE batch_export_runs SET worker_id = NULL,
        due_at = now() + make_interval(secs => ${broken_off_pause_seconds})
      WHERE worker_id = ${claimant.worker_id} AND status IN ('Starting', 'Running')
        AND id <> ALL (${claimant.run_ids}::uuid[])`);
    const { is_alone, is_eldest, is_noted } = await standingOf(tx, claimant);
    if (is_alone || !is_noted) return [];
    const claimed: ClaimedRun[] = [];
    const locked: string[] = [];
    let last = claimant.last_team_id;
    let free = slots;
    while (free > 0) {
      const isFree = claimant.run_ids.length + claimed.length === 0;
      const wanted = {
        bounds,
        locked,
        stalled_run_ids: claimant.stalled_run_ids,
        break_offs_max: isFree || is_eldest ? null : break_offs_alone - 1,
        slots: free,
      };
      const nearest = await listNext(tx, last, wanted);
      const { runs, isLast } = fitting(
        nearest.length > 0 || last === 0 ? nearest : await listNext(tx, 0, wanted),
        isFree,
        free,
      );
      const taken = await claimAll(
        tx,
        runs.map(({ id }) => id),
        claimant.worker_id,
      );
      claimed.push(...taken);
      const ids = new Set(taken.map(({ id }) => id));
      locked.push(...runs.filter(({ id }) => !ids.has(id)).map(({ id }) => id));
      free -= taken.reduce((sum, run) => sum + slotsOf(run), 0);
      last = runs.at(-1)?.team_id ?? last;
      if (isLast || taken.some((run) => run.break_offs >= break_offs_alone)) break;
    }
    return claimed;
  });
}

type WorkerStanding = { is_alone: boolean; is_eldest: boolean; is_noted: boolean };

/**
 * Returns whether the worker has a run that must be alone, and whether it drains its slots for such
 * runs: the oldest worker does, so that the others continue. Any other worker claims them if it
 * happens to be free. `is_noted`: the loss of this primary has been checked.
 */
async function standingOf(
  tx: Transaction,
  { worker_id, run_ids }: Claimant,
): Promise<WorkerStanding> {
  const row = await tx.row<WorkerStanding>(sql`
    SELECT coalesce((SELECT (value ->> 'timeline')::int FROM server_facts
        WHERE name = 'control_store'), control_epoch()) = control_epoch() AS is_noted,
      EXISTS (SELECT 1 FROM batch_export_runs WHERE id = ANY (${run_ids}::uuid[])
      AND worker_id = ${worker_id} AND break_offs >= ${break_offs_alone}) AS is_alone,
      coalesce((SELECT id FROM workers WHERE NOT is_stopping ORDER BY id
        LIMIT 1) = ${worker_id}, false) AS is_eldest`);
  return row!;
}

/** `break_offs_max`: how often a claimable run may have crashed; null: any number of times. */
type Wanted = {
  bounds: RunBounds;
  locked: string[];
  stalled_run_ids: string[];
  break_offs_max: number | null;
  slots: number;
};
type NextRun = {
  id: string;
  team_id: number;
  host: string | null;
  is_small: boolean;
  is_for_alone: boolean;
};

/**
 * Returns the next runs in order that can start now; `isLast` if no further run may follow them.
 */
function fitting(
  next: NextRun[],
  isFree: boolean,
  slots: number,
): { runs: NextRun[]; isLast: boolean } {
  const runs: NextRun[] = [];
  const hosts = new Set<string>();
  let free = slots;
  for (const run of next) {
    // The next run needs the worker alone, or a whole slot: nothing else is claimed until the
    // worker has room.
    if (slotsOf(run) > free || (run.is_for_alone && !isFree)) return { runs, isLast: true };
    if (run.is_for_alone) return { runs: runs.length === 0 ? [run] : runs, isLast: false };
    // A claimed run counts against the bound of its host, so the next one to it is searched again.
    if (run.host !== null && hosts.has(run.host)) return { runs, isLast: false };
    runs.push(run);
    if (run.host !== null) hosts.add(run.host);
    free -= slotsOf(run);
  }
  return { runs, isLast: next.length === 0 };
}

/**
 * Lists the next runs: one of each of the first projects after `lastTeamId` with a free bound, for
 * at most this many slots.
 */
async function listNext(
  tx: Transaction,
  lastTeamId: number,
  { bounds, locked, stalled_run_ids, break_offs_max, slots }: Wanted,
): Promise<NextRun[]> {
  // `project` skips over the index batch_export_runs_waiting from project to project instead of
  // through the runs of each, only as far as LIMIT needs. Within a project, the index lists the
  // oldest first, and its columns `host` and `break_offs` show which runs to skip.
  return tx.rows<NextRun>(sql`
    WITH RECURSIVE held AS MATERIALIZED (
      SELECT team_id, host, id = ANY (${stalled_run_ids}::uuid[]) AS is_stalled
        FROM batch_export_runs WHERE status IN ('Starting', 'Running') AND worker_id IS NOT NULL
    ), full_projects AS MATERIALIZED (
      SELECT team_id FROM held GROUP BY team_id
      HAVING count(*) FILTER (WHERE NOT is_stalled) >= ${bounds.project_runs_max}
        OR count(*) >= ${2 * bounds.project_runs_max}
    ), full_hosts AS MATERIALIZED (
      SELECT host FROM held WHERE host IS NOT NULL GROUP BY host
        HAVING count(*) >= ${bounds.host_runs_max}
    ), project AS (
      SELECT (SELECT team_id FROM batch_export_runs WHERE status IN ('Starting', 'Running')
        AND worker_id IS NULL AND team_id > ${lastTeamId} ORDER BY team_id LIMIT 1) AS team_id
      UNION ALL
      SELECT (SELECT run.team_id FROM batch_export_runs run
        WHERE run.status IN ('Starting', 'Running') AND run.worker_id IS NULL
        AND run.team_id > project.team_id ORDER BY run.team_id LIMIT 1)
      FROM project WHERE project.team_id IS NOT NULL
    )
    SELECT oldest.id, project.team_id, oldest.host, oldest.is_small,
      oldest.break_offs >= ${break_offs_alone} AS is_for_alone FROM project CROSS JOIN LATERAL (
      SELECT run.id, run.host, run.is_small, run.break_offs FROM batch_export_runs run
      WHERE run.status IN ('Starting', 'Running') AND run.worker_id IS NULL
        AND run.team_id = project.team_id AND run.due_at <= now()
        AND (run.host IS NULL OR run.host NOT IN (SELECT host FROM full_hosts))
          AND (${break_offs_max}::int IS NULL OR run.break_offs <= ${break_offs_max})
          AND run.id <> ALL (${locked}::uuid[])
      ORDER BY run.due_at, run.id LIMIT 1) oldest
    WHERE project.team_id NOT IN (SELECT team_id FROM full_projects)
      LIMIT ${Math.ceil(slots / slotsOf({ is_small: true }))}`);
}

/**
 * Claims a waiting run for a worker and fences off every earlier worker; undefined if it no longer
 * waits or its row is locked.
 */
export async function claimRun(
  queryable: Queryable,
  runId: string,
  workerId: string,
): Promise<ClaimedRun | undefined> {
  return (await claimAll(queryable, [runId], workerId))[0];
}

const rejection = sql`jsonb_build_object('rejected_rows', export.rejected_rows,
  'rejected_rows_max', export.rejected_rows_max,
  'rejected_percent_max', export.rejected_percent_max)`;

/** Claims those runs that still wait, like `claimRun`, and returns them in the given order. */
async function claimAll(
  queryable: Queryable,
  runIds: string[],
  workerId: string,
): Promise<ClaimedRun[]> {
  if (runIds.length === 0) return [];
  // SKIP LOCKED: a wait for a row here would block all workers.
  const taken = await queryable.rows<ClaimedRun>(sql`
    WITH waiting AS MATERIALIZED (
      SELECT id, batch_export_id, CASE WHEN attempt = 0 THEN created_at
        ELSE last_updated_at END AS waits_since, control_epoch() AS epoch,
        attempt + CASE WHEN epoch = control_epoch() THEN 1 ELSE ${epoch_step}::int END AS attempt
      FROM batch_export_runs WHERE id = ANY (${runIds}::uuid[])
        AND status IN ('Starting', 'Running') AND worker_id IS NULL FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE batch_export_runs run SET attempt = waiting.attempt, epoch = waiting.epoch,
      worker_id = ${workerId},
      status = 'Running', started_at = coalesce(started_at, now()), last_updated_at = now(),
      steps = jsonb_path_query_array(steps,
        '$[last - ${raw(String(remembered_attempts_max - 2))} to last]')
        || jsonb_build_object('attempt', waiting.attempt, 'began_at', wire_instant(now()),
          'waited_ms', floor(extract(epoch FROM now() - waiting.waits_since) * 1000)::bigint,
          'counted_ms', NULL, 'read_ms', NULL, 'sent_ms', NULL, 'committed_ms', NULL),
      model = now.model, custom_query = now.custom_query, write_rule = now.write_rule,
        schema_number = now.schema_number, destination_type = now.destination_type,
        destination_config = now.destination_config,
        destination_secrets = now.destination_secrets
    FROM waiting JOIN batch_exports export ON export.id = waiting.batch_export_id, LATERAL (
      -- The export as it is now, with fresh credentials, unless it has moved on to another
      -- revision since this run began.
      -- Once the slices are cut the compression stays, so that all of them have the same.
      -- The columns stay once the run has begun, for the same reason.
      SELECT export.model, export.custom_query, export.write_rule,
        CASE WHEN own.destination_type IS NULL THEN ${schema_number} ELSE own.schema_number END
          AS schema_number, export.destination_type, CASE
        WHEN own.records_total_count IS NOT NULL AND own.destination_config ? 'compression'
          THEN export.destination_config || jsonb_build_object('compression',
            own.destination_config -> 'compression')
            ELSE export.destination_config END AS destination_config,
        export.destination_secrets FROM batch_export_runs own
      WHERE own.id = waiting.id AND (own.revision = export.revision OR own.destination_type IS NULL)
      UNION ALL
      SELECT own.model, own.custom_query, own.write_rule, own.schema_number,
        own.destination_type, own.destination_config, own.destination_secrets
      FROM batch_export_runs own
      WHERE own.id = waiting.id AND own.revision <> export.revision
        AND own.destination_type IS NOT NULL) now
    WHERE run.id = waiting.id
    RETURNING run.id, run.batch_export_id, run.delivery_id, run.revision, run.attempt, run.failures,
      run.break_offs, run.is_small, run.data_interval_start, run.data_interval_end,
      run.selection, run.records_total_count, run.cancel_requested_at, run.committing_at,
        run.receipt, run.backfill_id,
      run.team_id, run.model, run.custom_query, run.write_rule, ${typed_fields},
        run.destination_type, run.destination_config, run.destination_secrets, run.steps,
        run.replaces,
      ${rejection} AS rejection, export.timezone, export.revision AS export_revision,
      export.deleted_at IS NOT NULL AS is_deleted`);
  const known = new Map(taken.map((run) => [run.id, run]));
  return runIds.flatMap((id) => known.get(id) ?? []);
}
