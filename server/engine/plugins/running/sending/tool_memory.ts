import sql from 'sql-template-tag';
import type { Database, Queryable } from '../../../../platform/postgres/database.ts';
import { LeaseLostError, isHeld, movedTo } from '../leases.ts';
import type { Lease, Position } from '../leases.ts';
import { milliseconds, onOurClock, secondsFromNow } from './waiting.ts';
import type { Begun } from './sent.ts';
import { openWaitingRoom } from './waiting_room.ts';
import type { WaitingRoom } from './waiting_room.ts';

/**
 * A tool's state that outlives its worker: the waiting events, the pace (requests a second), how
 * far sending had begun, and when the tool last accepted an event (`performance.now()`).
 */
export type ToolMemory = {
  room: WaitingRoom;
  pace: number | null;
  begun: Begun | null;
  taken_at: number | null;
};

/** Reads the state of a config's tool. */
export async function readMemory(db: Database, config_id: number): Promise<ToolMemory> {
  const row = await db.row<Omit<ToolMemory, 'room'>>(sql`
    SELECT pace, ${milliseconds(sql`taken_at`)} AS taken_at,
      CASE WHEN begun_inserted_at IS NOT NULL THEN json_build_object('inserted_at',
        wire_instant(begun_inserted_at), 'event_uuid', begun_event_uuid) END AS begun
    FROM plugin_cursors WHERE plugin_config_id = ${config_id}`);
  if (row === undefined) throw new LeaseLostError();
  const taken_at = onOurClock(row.taken_at);
  return { ...row, taken_at, room: await openWaitingRoom(db, config_id) };
}

/**
 * Collects the changes so far. The function stores them together with the cursor: all or nothing.
 * It throws LeaseLostError.
 */
export function takeMemory(
  { room, pace, begun, taken_at }: ToolMemory,
  position: Position,
): (db: Database, lease: Lease) => Promise<void> {
  const changes = room.changes();
  return (db, lease) => saveChanges(db, lease, { changes, pace, begun, taken_at }, position);
}

async function saveChanges(
  db: Database,
  lease: Lease,
  {
    changes,
    pace,
    begun,
    taken_at,
  }: Omit<ToolMemory, 'room'> & { changes: ReturnType<WaitingRoom['changes']> },
  position: Position,
): Promise<void> {
  const store = async (tx: Queryable): Promise<void> => {
    const saved = await tx.run(sql`
      UPDATE plugin_cursors SET ${movedTo(position)}, pace = ${pace}::real,
        begun_inserted_at = ${begun?.inserted_at ?? null},
        begun_event_uuid = ${begun?.event_uuid ?? null},
        taken_at = now() + make_interval(secs => ${secondsFromNow(taken_at)}::float8)
      WHERE ${isHeld(lease)}`);
    if (saved === 0) throw new LeaseLostError();
    await changes.save(tx, lease);
  };
  try {
    await db.transaction(store);
  } catch (error) {
    changes.undo();
    throw error;
  }
}
