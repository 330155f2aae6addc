import { caughtUp } from '../../../../platform/clickhouse/topology/caught_up.ts';
import { settled } from '../../../ingest/lock.ts';
import { PluginError } from '../../plugin.ts';
import { mappingName } from '../../tools/mappings.ts';
import type { ToolMapping } from '../../tools/tool.ts';
import type { Delivery } from '../delivery.ts';
import { openErasedMeanwhile } from '../erased/erased_meanwhile.ts';
import { describeFailure, retrySeconds } from '../failures.ts';
import { HoldError } from '../hold.ts';
import { placeBefore, placeOf } from '../leases.ts';
import type { Position } from '../leases.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import { readEvents, readEventsOf } from '../read_events.ts';
import type { PluginEvent } from '../read_events.ts';
import { findDueReplay, saveReplay } from './replays.ts';
import type { Replay, ReplayProgress } from './replays.ts';
import type { Lane, Item as LaneItem } from '../sending/lanes.ts';
import { parkBehind, planTurn, waitingOf } from '../sending/plan_turn.ts';
import { runTurn } from '../sending/run_turn.ts';
import { listSetAside, removeSetAside } from '../sending/set_aside.ts';
import type { StoredSetAside } from '../sending/set_aside.ts';
import { ToolRetryError } from '../sending/tool_retry.ts';
import { waiting_max } from '../sending/waiting.ts';

const chunk_bytes_max = 4 * 1024 * 1024;
/** A turn starts nothing after this, because live events wait. */
const turn_ms = 500;
/** The room that replays leave to waiting live events. */
const room_left_min = waiting_max / 2;

/** An event and the mappings that send it again; undefined: it is gone. */
type Item = {
  event: PluginEvent | undefined;
  mappings: ToolMapping[];
  /** Its row, if it was set aside. */
  aside: StoredSetAside | undefined;
  position: Position;
};

/** The next part of a replay; `until` is its position after the part. */
type Part = { items: Item[]; until: Position; is_end: boolean };

/** A replay that its worker has claimed, with its view of the tool. */
type Replaying = { delivery: Delivery; tool: LoadedTool; replay: Replay };

/**
 * Gives the longest waiting replay a short turn, between turns of live events. It sends like these:
 * in the same batches, in the order of each person. An event that fails while the tool accepts
 * others joins the waiting live events. Stores its progress and its end; it has its own failures
 * and pauses. Returns true if it handled events. Throws LeaseLostError.
 */
export async function takeReplayTurn(live: Delivery): Promise<boolean> {
  const { running, lease, log, signal } = live;
  const replay = await findDueReplay(running.db, lease.config_id);
  const tool = replay && live.plugin.tool?.replaying(replay.id);
  if (replay === undefined || tool === undefined) return false;
  const replaying = { delivery: { ...live, plugin: { ...live.plugin, tool } }, tool, replay };
  const isErased = openErasedMeanwhile(running, lease.team_id);
  const part = await (replay.source === 'events' ? readRange(replaying) : readAside(replaying));
  const { error, failure, rest_seconds } = await sendPart(replaying, part, isErased);
  signal.throwIfAborted();
  await running.trace.flush();
  const isOver = ({ event, mappings }: Item) =>
    event === undefined || mappings.every((mapping) => tool.isDone(event, mappingName(mapping)));
  const first = part.items.findIndex((item) => !isOver(item));
  const over = first === -1 ? part.items : part.items.slice(0, first);
  const last = over.at(-1);
  const progress: ReplayProgress = {
    position: first === -1 ? part.until : (last?.position ?? replay.position),
    after_id: last?.aside?.id ?? replay.after_id,
    handed: over.length,
    failures: 0,
    wait_seconds: rest_seconds ?? (over.length === 0 ? 1 : over.length / replay.rate),
    detail: null,
    ended: first === -1 && part.is_end ? 'whole' : undefined,
  };
  const reason = error ?? failure;
  const stored = reason === undefined ? progress : failedProgress(replaying, progress, reason);
  await save(replaying, stored, over);
  for (const { event } of over) if (event !== undefined) tool.passed(event);
  if (stored.ended !== undefined) log.write('INFO', 'Everything was sent again.');
  return over.length > 0;
}

/** Stores the progress and the events that now wait, and removes them from those set aside. */
async function save(
  { delivery: { running, lease }, tool, replay }: Replaying,
  progress: ReplayProgress,
  over: Item[],
): Promise<void> {
  const changes = tool.room.changes();
  try {
    await running.db.transaction(async (tx) => {
      await saveReplay(tx, lease, replay, progress);
      await removeSetAside(
        tx,
        over.flatMap(({ aside }) => aside ?? []),
      );
      await changes.save(tx, lease);
    });
  } catch (error) {
    changes.undo();
    throw error;
  }
}

/** Defers the replay like live events, with the reason. */
function failedProgress(
  { delivery: { running, log }, replay }: Replaying,
  progress: ReplayProgress,
  error: Error,
): ReplayProgress {
  const failures = progress.handed > 0 ? 1 : replay.failures + 1;
  const detail = log.mask(describeFailure(error));
  if (!(error instanceof PluginError || error instanceof HoldError))
    running.log.warn({ err: error, replay_id: replay.id }, 'a replay failed; Sluice retries it');
  if (failures === 1) log.write('WARNING', `Sending again waits: ${detail}`);
  const asked = error instanceof ToolRetryError ? error.retry_seconds : undefined;
  const wait_seconds = asked ?? retrySeconds(running.retry_seconds, failures);
  return { ...progress, failures, wait_seconds, detail, ended: undefined };
}

/** A turn has room for a whole batch, whatever the rate: the next turn comes later instead. */
function chunkOf({ tool, replay: { rate } }: Replaying): number {
  const sizes = [...tool.batching.values()].map(({ size }) => size);
  return Math.min(Math.max(Math.ceil((rate * turn_ms) / 1_000), ...sizes), tool.reads.rows_max);
}

async function readRange(replaying: Replaying): Promise<Part> {
  const { running, lease, signal } = replaying.delivery;
  const { position, filter } = replaying.replay;
  const final = await running.db.transaction((tx) => settled(tx, lease.team_id));
  const isFinal = Date.parse(final) >= Date.parse(filter.end_at);
  const until = isFinal ? filter.end_at : final;
  const wanted = {
    team_id: lease.team_id,
    after: position,
    until,
    names: filter.events,
    rows_max: chunkOf(replaying),
    bytes_max: chunk_bytes_max,
  };
  const { events, is_end } = await caughtUp(running.clickhouse, ['events'], () =>
    readEvents(running.clickhouse, wanted, signal),
  );
  const items = events.map((event) => ({
    event,
    mappings: replaying.tool.mappings,
    aside: undefined,
    position: placeOf(event),
  }));
  const end = placeBefore(until);
  return { items, until: is_end ? end : items.at(-1)!.position, is_end: is_end && isFinal };
}

async function readAside(replaying: Replaying): Promise<Part> {
  const { running, lease, signal } = replaying.delivery;
  const { filter, after_id, position } = replaying.replay;
  const count = chunkOf(replaying);
  const rows = await listSetAside(running.db, lease.config_id, filter, { after_id, count });
  const uuids = rows.map(({ event_uuid }) => event_uuid);
  const events = await caughtUp(running.clickhouse, ['events'], () =>
    readEventsOf(running.clickhouse, lease.team_id, uuids, signal),
  );
  const items = rows.map((aside) => ({
    event: events.get(aside.event_uuid),
    mappings: replaying.tool.mappings.filter((one) => mappingName(one) === aside.mapping),
    aside,
    position,
  }));
  return { items, until: position, is_end: rows.length < count };
}

/** Sends the events in order, each by its mappings; the rest waits for the next turn. */
async function sendPart(
  { delivery, tool, replay: { failures } }: Replaying,
  { items }: Part,
  isErased: () => Promise<boolean>,
): ReturnType<typeof runTurn> {
  if (tool.room.room < room_left_min) {
    const error = new ToolRetryError('Many events already wait for a retry.', undefined);
    return { error, failure: undefined, works: false, count: 0, rest_seconds: undefined };
  }
  // An erased event is not sent, and a deleted mapping wants no event.
  const wanted = items.flatMap(({ event, mappings }) => (event ? [{ event, mappings }] : []));
  const byEvent = Map.groupBy(wanted, ({ event }) => event);
  const planned = planTurn(tool, {
    events: [...byEvent.keys()],
    waiting: new Map(),
    due: [],
    failures,
    mappingsOf: (event) => byEvent.get(event)!.flatMap(({ mappings }) => mappings),
  });
  // A live event accepted since the last failure shows that the tool works.
  const { retry_seconds } = delivery.running;
  const failed_ms = failures === 0 ? 0 : 1_000 * retrySeconds(retry_seconds, failures);
  const works = (tool.taken.at ?? -Infinity) > performance.now() - failed_ms;
  const result = await runTurn(delivery, { planned, failures, turn_ms, works, isErased });
  parkGaps(tool, planned);
  return result;
}

/**
 * Queues events without a turn whose mapping has sent later ones: the replay moves on, and sends
 * nothing twice after a pause.
 */
function parkGaps(tool: LoadedTool, planned: Lane[]): void {
  for (const [mapping, lanes] of Map.groupBy(planned, (lane) => lane.mapping)) {
    const items = lanes.flatMap((lane) => lane.items);
    const isDone = ({ event }: LaneItem) => tool.isDone(event, mapping);
    const last = Math.max(...items.filter(isDone).map(({ order }) => order));
    const gaps = items.filter((item) => item.order < last && !isDone(item));
    for (const { event } of gaps) {
      const row = { ...waitingOf(tool, event, mapping), due_at: performance.now() };
      if (parkBehind(tool, event, mapping)) tool.room.keep(row);
    }
  }
}
