import sql from 'sql-template-tag';
import type { Database, Queryable } from '../../../../platform/postgres/database.ts';
import type { Lease, Position } from '../leases.ts';
import { LeaseLostError, movedTo, position_json } from '../leases.ts';
import type { SetAsideFilter } from '../sending/set_aside.ts';

/** Events to send again: of a range of the store, or those that were set aside. */
export type Replay = {
  id: string;
  source: 'events' | 'set_aside';
  filter: SetAsideFilter & { end_at: string };
  /** At most this many events a second. */
  rate: number;
  position: Position;
  /** The id of the last handled row, if it replays events that were set aside. */
  after_id: string;
  /** Failures in a row. */
  failures: number;
};

/** Finds the config's longest waiting replay. Uses plugin_replays_open. */
export function findDueReplay(db: Database, config_id: number): Promise<Replay | undefined> {
  return db.row<Replay>(sql`
    SELECT id, source, rate, after_id::text AS after_id, failures,
      ${position_json} AS "position",
      json_build_object('start_at', wire_instant(start_at), 'end_at', wire_instant(end_at),
        'events', events, 'mapping', mapping, 'status', status, 'of_event', of_event,
        'reason', reason) AS filter
    FROM plugin_replays WHERE plugin_config_id = ${config_id} AND finished_at IS NULL
      AND next_at <= now() ORDER BY next_at, id LIMIT 1`);
}

/** The progress of a replay; `wait_seconds` until its next turn. */
export type ReplayProgress = Pick<Replay, 'position' | 'after_id' | 'failures'> & {
  /** Number of further handled events. */
  handed: number;
  wait_seconds: number;
  /** The reason for its wait or its end. */
  detail: string | null;
  ended: 'whole' | 'failures' | undefined;
};

/** Stores the progress. Does nothing for a cancelled replay. Throws a LeaseLostError. */
export async function saveReplay(
  tx: Queryable,
  lease: Lease,
  { id }: Replay,
  progress: ReplayProgress,
): Promise<void> {
  const { position, ended } = progress;
  const saved = await tx.row<{ is_held: boolean }>(sql`
    WITH held AS (SELECT 1 FROM plugin_cursors WHERE plugin_config_id = ${lease.config_id}
        AND leased_by = ${lease.id} FOR SHARE),
      saved AS (UPDATE plugin_replays SET ${movedTo(position)},
        after_id = ${progress.after_id}::bigint,
        failures = ${progress.failures}, done = done + ${progress.handed},
        detail = ${progress.detail}::text,
        next_at = now() + make_interval(secs => ${progress.wait_seconds}::float8),
        finished_at = CASE WHEN ${ended !== undefined}::boolean THEN now() END,
        ended_by = ${ended === 'failures' ? ended : null}::text
      WHERE id = ${id} AND finished_at IS NULL AND EXISTS (SELECT 1 FROM held))
    SELECT EXISTS (SELECT 1 FROM held) AS is_held`);
  if (!saved!.is_held) throw new LeaseLostError();
}
