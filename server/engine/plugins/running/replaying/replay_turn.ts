import { openSemaphore } from '../../../../platform/pacing/semaphore.ts';
import { caughtUp } from '../../../../platform/clickhouse/topology/caught_up.ts';
import { settled } from '../../../ingest/lock.ts';
import { PluginError } from '../../plugin.ts';
import { mappingName } from '../../tools/mappings.ts';
import type { ToolMapping } from '../../tools/tool.ts';
import type { Delivery } from '../delivery.ts';
import { openErasedMeanwhile } from '../erased/erased_meanwhile.ts';
import { describeFailure, retrySeconds } from '../failures.ts';
import { HoldError } from '../hold.ts';
import type { Position } from '../leases.ts';
import { readEvents, readEventsOf } from '../read_events.ts';
import type { PluginEvent } from '../read_events.ts';
import { findDueReplay, saveReplay } from './replays.ts';
import type { Replay, ReplayProgress } from './replays.ts';
import { listSetAside, removeSetAside } from '../sending/set_aside.ts';
import { recordAttempts } from '../sending/tool_attempts.ts';
import { laterError } from '../sending/tool_turn.ts';
import { ToolRetryError } from '../sending/tool_retry.ts';

const chunk_max = 100;
const chunk_bytes_max = 4 * 1024 * 1024;
/** A turn begins nothing further after this, because live events wait. */
const turn_ms = 500;
/** After so many failures in a row an event that alone fails is set aside. */
const tries_max = 5;

/** An event and the mappings at which it is sent again; undefined: it is gone. */
type Item = {
  event: PluginEvent | undefined;
  distinct_id: string;
  mappings: ToolMapping[];
  /** The row of what was set aside. */
  aside_id: string | undefined;
  position: Position;
};

/** The next part of a replay; `until` is where it stands after all of it. */
type Part = { items: Item[]; until: Position; is_end: boolean };

/**
 * Gives the replay that waits longest a short turn, between turns of live events. Stores its
 * progress and its end; it has failures and pauses of its own. Returns if there was one. Throws
 * LeaseLostError.
 */
export async function takeReplayTurn(delivery: Delivery): Promise<boolean> {
  const { running, lease, log, signal } = delivery;
  const replay = await findDueReplay(running.db, lease.config_id);
  if (replay === undefined) return false;
  const isErased = openErasedMeanwhile(running, lease.team_id);
  const part = await (replay.source === 'events'
    ? readRange(delivery, replay)
    : readAside(delivery, replay));
  const { finished, failed } = await sendPart(delivery, replay, part, isErased);
  signal.throwIfAborted();
  await running.trace.flush();
  const isWhole = finished === part.items.length && failed === undefined;
  const progress: ReplayProgress = {
    ...placeAfter(replay, part, isWhole ? undefined : finished),
    handed: finished,
    failures: 0,
    wait_seconds: finished === 0 ? 1 : finished / replay.rate,
    detail: null,
    ended: isWhole && part.is_end ? 'whole' : undefined,
  };
  if (failed === undefined) await saveReplay(running.db, lease, replay, progress);
  else await saveFailure(delivery, replay, progress, failed.error);
  if (progress.ended !== undefined) log.write('INFO', 'Everything was sent again.');
  return finished > 0;
}

function placeAfter(
  { position, after_id }: Replay,
  { items, until }: Part,
  finished: number | undefined,
): Pick<Replay, 'position' | 'after_id'> {
  const last = finished === undefined ? items.at(-1) : items[finished - 1];
  return {
    position: finished === undefined ? until : (last?.position ?? position),
    after_id: last?.aside_id ?? after_id,
  };
}

/** Lets the replay wait as the live events would, and says why. */
async function saveFailure(
  { running, lease, log }: Delivery,
  replay: Replay,
  progress: ReplayProgress,
  error: unknown,
): Promise<void> {
  const failures = progress.handed > 0 ? 1 : replay.failures + 1;
  const detail = log.mask(describeFailure(error));
  if (!(error instanceof PluginError || error instanceof HoldError))
    running.log.warn({ err: error, replay_id: replay.id }, 'a replay failed and is tried again');
  const asked = error instanceof ToolRetryError ? error.retry_seconds : undefined;
  await saveReplay(running.db, lease, replay, {
    ...progress,
    failures,
    wait_seconds: asked ?? retrySeconds(running.retry_seconds, failures),
    detail,
    ended: undefined,
  });
  if (failures === 1) log.write('WARNING', `Sending again waits: ${detail}`);
}

function chunkOf({ rate }: Replay): number {
  return Math.min(chunk_max, Math.max(1, Math.ceil((rate * turn_ms) / 1_000)));
}

async function readRange(
  { running, lease, plugin, signal }: Delivery,
  replay: Replay,
): Promise<Part> {
  const { position, filter } = replay;
  const final = await running.db.transaction((tx) => settled(tx, lease.team_id));
  const isFinal = Date.parse(final) >= Date.parse(filter.end_at);
  const until = isFinal ? filter.end_at : final;
  const wanted = {
    team_id: lease.team_id,
    after: position,
    until,
    names: filter.events,
    rows_max: chunkOf(replay),
    bytes_max: chunk_bytes_max,
  };
  const { events, is_end } = await caughtUp(running.clickhouse, ['events'], () =>
    readEvents(running.clickhouse, wanted, signal),
  );
  const items = events.map((event) => ({
    event,
    distinct_id: event.distinct_id,
    mappings: plugin.tool?.mappings ?? [],
    aside_id: undefined,
    position: { inserted_at: event.inserted_at, event_uuid: event.uuid },
  }));
  const end = { inserted_at: until, event_uuid: null };
  return { items, until: is_end ? end : items.at(-1)!.position, is_end: is_end && isFinal };
}

async function readAside(
  { running, lease, plugin, signal }: Delivery,
  replay: Replay,
): Promise<Part> {
  const { filter, after_id, position } = replay;
  const count = chunkOf(replay);
  const rows = await listSetAside(running.db, lease.config_id, filter, { after_id, count });
  const uuids = rows.map(({ event_uuid }) => event_uuid);
  const events = await caughtUp(running.clickhouse, ['events'], () =>
    readEventsOf(running.clickhouse, lease.team_id, uuids, signal),
  );
  const items = rows.map(({ id, event_uuid, distinct_id, mapping }) => ({
    event: events.get(event_uuid),
    distinct_id,
    mappings: (plugin.tool?.mappings ?? []).filter((one) => mappingName(one) === mapping),
    aside_id: id,
    position,
  }));
  return { items, until: position, is_end: rows.length < count };
}

/**
 * Sends the events in their order, several at a time, those of a person one after another, and
 * gives how many are done from the beginning on. After a failure nothing further is begun.
 */
async function sendPart(
  delivery: Delivery,
  replay: Replay,
  { items }: Part,
  isErased: () => Promise<boolean>,
): Promise<{ finished: number; failed: { error: unknown } | undefined }> {
  const { plugin, stopping } = delivery;
  const until = performance.now() + turn_ms;
  const places = openSemaphore(plugin.calls_max);
  const done = new Set<Item>();
  const latest = new Map<string, Promise<void>>();
  let failed: { error: unknown } | undefined;
  const begun: Promise<void>[] = [];
  for (const item of items) {
    await places.take();
    const isOver = stopping.aborted || performance.now() > until || (await isErased());
    if (failed !== undefined || isOver) break;
    const work = async (): Promise<void> => {
      await latest.get(item.distinct_id);
      if (failed !== undefined) return;
      await sendItem(delivery, replay, item, isErased);
      done.add(item);
    };
    const ended = work()
      .catch((error: unknown) => void (failed ??= { error }))
      .finally(() => places.give());
    latest.set(item.distinct_id, ended);
    begun.push(ended);
  }
  await Promise.all(begun);
  const first = items.findIndex((item) => !done.has(item));
  return { finished: first === -1 ? items.length : first, failed };
}

/** Throws what lets the replay wait. */
async function sendItem(
  delivery: Delivery,
  replay: Replay,
  { event, mappings, aside_id }: Item,
  isErased: () => Promise<boolean>,
): Promise<void> {
  let isLeft = false;
  // An erased event is sent to nobody; a mapping that is gone wants it no more.
  if (event !== undefined)
    for (const mapping of mappings)
      isLeft = (await sendBy(delivery, replay, { event, mapping, isErased })) || isLeft;
  if (aside_id !== undefined && !isLeft) await removeSetAside(delivery.running.db, aside_id);
}

/** Returns if the event was set aside; throws what lets the replay wait. */
async function sendBy(
  delivery: Delivery,
  { failures }: Replay,
  {
    event,
    mapping,
    isErased,
  }: { event: PluginEvent; mapping: ToolMapping; isErased: () => Promise<boolean> },
): Promise<boolean> {
  const { plugin, signal, running } = delivery;
  const outcome = await plugin.tool!.send(event, mapping, signal, isErased);
  // An event that alone fails lets the others have their turn.
  const isFinal = failures + 1 >= tries_max;
  const isAside =
    outcome.kind === 'refused' || (outcome.kind === 'retry' && outcome.status !== 429 && isFinal);
  const next = isAside ? 'set aside' : 'reason' in outcome ? 'again' : 'done';
  const name = mappingName(mapping);
  await recordAttempts(delivery, [
    {
      event,
      mapping: name,
      outcome,
      tries: failures + 1,
      next,
      is_again: false,
      is_replay: true,
    },
  ]);
  if (isAside || !('reason' in outcome)) return isAside;
  throw laterError(outcome, running.clock.now());
}
