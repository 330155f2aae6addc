import { setTimeout as pause } from 'node:timers/promises';
import { caughtUp } from '../../../../platform/clickhouse/topology/caught_up.ts';
import { settled } from '../../../ingest/lock.ts';
import type { Delivery, DeliveryEnd, DeliveryProgress } from '../delivery.ts';
import { openErasedMeanwhile } from '../erased/erased_meanwhile.ts';
import { HoldError } from '../hold.ts';
import { LeaseLostError, placeBefore, placeOf, saveProgress } from '../leases.ts';
import type { ConfigState } from '../leases.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import { readEvents, readEventsAt } from '../read_events.ts';
import type { Lane } from './lanes.ts';
import { dueLines, planTurn } from './plan_turn.ts';
import type { TurnWork } from './plan_turn.ts';
import { runTurn } from './run_turn.ts';
import { takeMemory } from './tool_memory.ts';
import { openPersons } from './persons.ts';

const save_ms = 250;
/**
 * Time for which results are kept during an outage of the control store, so that nothing is sent
 * again.
 */
const save_over_ms_max = 30_000;
/** After this time, settings and code are checked again. */
const turn_ms_max = 5_000;

/**
 * Sends the next events by each mapping that wants them, several at a time and one of each person.
 * An event that the tool refuses is set aside with the reason. After a temporary failure, the event
 * waits in its person's line if the tool accepts others; otherwise the turn fails, and the cursor
 * stays. The cursor only passes events that were accepted, set aside, or stored as waiting. Throws
 * LeaseLostError.
 */
export async function deliverToTool(
  delivery: Delivery,
  tool: LoadedTool,
  state: ConfigState,
): Promise<DeliveryEnd> {
  const { running, lease, log } = delivery;
  const { position, failures } = state;
  const progress: DeliveryProgress = { position, failures, has_worked: false };
  const { work, until, isYoung, isErased } = await readWork(delivery, tool, state);
  if (isYoung && work.due.length === 0) return { kind: 'waiting' };
  const end = await sendWork(delivery, progress, work, isErased);
  if (end.kind === 'paced') {
    const { wait_seconds: retry_seconds } = end;
    log.write('INFO', `The tool asked for a slower pace: ${retry_seconds.toFixed(1)} s of rest.`);
    await saveProgress(running.db, lease, { ...progress, retry_seconds });
  }
  // No more events can appear before `until`.
  if (end.kind === 'done' && until !== undefined) progress.position = placeBefore(until);
  if (end.kind === 'done' || end.kind === 'stopping')
    await saveProgress(running.db, lease, progress);
  return end;
}

/**
 * Reads new events and due waiting ones. `until` is set if there are no more new ones, and
 * `isYoung` if these wait to fill their batch.
 */
async function readWork(
  { running, lease, signal }: Delivery,
  tool: LoadedTool,
  { position, failures }: ConfigState,
) {
  const { team_id } = lease;
  const { clickhouse } = running;
  const until = await running.db.transaction((tx) => settled(tx, team_id));
  const isErased = openErasedMeanwhile(running, team_id);
  const due = dueLines(tool);
  const wanted = {
    team_id,
    after: position,
    until,
    names: null,
    rows_max: tool.reads.rows_max,
    bytes_max: tool.reads.bytes_max,
  };
  const [{ events, is_end }, waiting] = await caughtUp(clickhouse, ['events'], () =>
    Promise.all([
      readEvents(clickhouse, wanted, signal),
      readEventsAt(clickhouse, team_id, due.flat(), signal),
    ]),
  );
  const [oldest] = events;
  const isYoung =
    is_end &&
    oldest !== undefined &&
    Date.parse(until) - Date.parse(oldest.inserted_at) < tool.reads.seconds_min * 1_000;
  const fresh = isYoung ? [] : events;
  const work: TurnWork = { events: fresh, waiting, due, failures };
  return { work, until: is_end && !isYoung ? until : undefined, isYoung, isErased };
}

async function sendWork(
  delivery: Delivery,
  progress: DeliveryProgress,
  work: TurnWork,
  isErased: () => Promise<boolean>,
): Promise<DeliveryEnd> {
  const tool = delivery.plugin.tool!;
  const planned = planTurn(tool, work);
  const cursor = openCursor(delivery, progress, work);
  const unmark = markBegun(tool, planned);
  await cursor.save('sending');
  const { failures } = work;
  const { saveLater } = cursor;
  const turn = { planned, failures, turn_ms: turn_ms_max, isErased, saveLater };
  const { error, failure, works, count, rest_seconds } = await runTurn(delivery, turn);
  progress.has_worked = works;
  if (error === undefined && failure === undefined && works) progress.failures = 0;
  unmark();
  promoteFirst(tool);
  await saveOver(delivery, cursor);
  if (error !== undefined && !(error instanceof HoldError)) throw error;
  const reason = error ?? failure;
  if (reason !== undefined) return { kind: 'failed', error: reason, progress };
  if (rest_seconds !== undefined) return { kind: 'paced', wait_seconds: rest_seconds };
  if (cursor.isAtEnd()) return { kind: 'done' };
  return { kind: count > 0 ? 'stopping' : 'waiting' };
}

type Cursor = {
  /** Stores the position and, during sending, how far events may have been sent. */
  save(state: 'sending' | 'over'): Promise<void>;
  saveLater(): Promise<void>;
  isAtEnd(): boolean;
};

/** Opens the position of the config, which passes events that have gone through all mappings. */
function openCursor(
  { running, lease, plugin }: Delivery,
  progress: DeliveryProgress,
  { events }: TurnWork,
): Cursor {
  const tool = plugin.tool!;
  let passed = 0;
  let saved_at = -Infinity;
  let saving: Promise<void> | undefined;
  const last = events.at(-1);
  const saveNow: Cursor['save'] = async (state) => {
    for (; passed < events.length && tool.isOver(events[passed]!); passed += 1)
      progress.position = placeOf(events[passed]!);
    const over = events.slice(0, passed);
    for (const event of over) tool.passed(event);
    const isOpen = last !== undefined && passed < events.length;
    const begun =
      isOpen && (state === 'sending' || tool.isAhead())
        ? { inserted_at: last.inserted_at, event_uuid: last.uuid }
        : null;
    const { room, taken } = tool;
    const pace = tool.pace.rate;
    const store = takeMemory({ room, pace, begun, taken_at: taken.at }, progress.position);
    // Events of the turn are in the trace, even if this process dies.
    await running.trace.flush();
    await store(running.db, lease);
  };
  const save: Cursor['save'] = async (state) => {
    await saving?.catch(() => undefined);
    saving = saveNow(state).finally(() => {
      [saving, saved_at] = [undefined, performance.now()];
    });
    await saving;
  };
  return {
    save,
    saveLater: async () => {
      if (saving === undefined && performance.now() - saved_at > save_ms) await save('sending');
    },
    isAtEnd: () => passed === events.length,
  };
}

/** Stores the end of a turn, and retries during a short outage of the control store. */
async function saveOver({ signal }: Delivery, cursor: Cursor): Promise<void> {
  for (const until = performance.now() + save_over_ms_max; ;)
    try {
      return await cursor.save('over');
    } catch (error) {
      if (error instanceof LeaseLostError || performance.now() > until) throw error;
      await pause(save_ms, undefined, { signal });
    }
}

/**
 * Marks due rows as possibly sent, so that the next worker knows. The function unmarks unsent ones.
 */
function markBegun({ room }: LoadedTool, planned: Lane[]): () => void {
  const marked = planned.flatMap(({ items }) =>
    items.flatMap(({ row, is_again }) =>
      row === undefined ? [] : [{ row, is_again, tried_at: row.tried_at }],
    ),
  );
  for (const { row } of marked) room.keep(Object.assign(row, { is_lost: true }));
  return () => {
    for (const { row, is_again, tried_at } of marked)
      if (room.has(row) && row.tried_at === tried_at)
        room.keep(Object.assign(row, { is_lost: is_again }));
  };
}

/** Makes the events due that are now first in their lines. */
function promoteFirst({ room }: LoadedTool): void {
  for (const [first] of room.lines(openPersons()).values())
    if (first!.due_at === null) room.keep(Object.assign(first!, { due_at: performance.now() }));
}
