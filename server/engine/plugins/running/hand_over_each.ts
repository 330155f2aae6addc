import { PluginError } from '../plugin.ts';
import type { Delivery, DeliveryBatch, DeliveryEnd, DeliveryProgress } from './delivery.ts';
import { describeFailure, mayPass } from './failures.ts';
import { saveProgress } from './leases.ts';
import { HostNeededError } from './needed_hosts.ts';
import type { PluginEvent } from './read_events.ts';

type Outcome = 'handed over' | { error: unknown };
type HandOne = (delivery: Delivery, event: PluginEvent) => Promise<void>;
/** An event under way; `isBeside`: another one was under way at some moment of it. */
type UnderWay = { isBeside: boolean; ended: Promise<void> };

const save_ms = 1_000;

/**
 * Hands events over, several at a time. Invariants, whatever order they end in:
 * - events of one distinct id are handed over one after the other, in their order;
 * - the place moves over a finished beginning of the batch alone, and failures count in the order
 * of the events;
 * - after an error that may pass nothing further is begun; what had been handed over behind it is
 * not handed over again while the plugin stays loaded;
 * - an event is passed over for an end of the sandbox, or a refused host, only when it was handed
 * over alone: beside others these can be somebody else's;
 * - when events were erased since the batch was read, nothing further of it is begun.
 */
export async function handOverEach(
  delivery: Delivery,
  progress: DeliveryProgress,
  { events, isErased }: DeliveryBatch,
  handOne: HandOne,
): Promise<DeliveryEnd> {
  const { running, lease, plugin, signal } = delivery;
  const batch = openBatch(delivery, progress, events);
  const under_way = new Map<PluginEvent, UnderWay>();
  let isAlone = false;
  // After a failure one event has to show first that things go on again.
  const width = () => (isAlone || progress.failures > 0 ? 1 : plugin.calls_max);
  let saved_at = performance.now();

  const begin = (event: PluginEvent): void => {
    const own: UnderWay = { isBeside: under_way.size > 0, ended: Promise.resolve() };
    for (const other of under_way.values()) other.isBeside = true;
    under_way.set(event, own);
    const end = (outcome: Outcome): void => {
      under_way.delete(event);
      if (outcome !== 'handed over' && own.isBeside && isUnclear(outcome.error)) isAlone = true;
      else batch.end(event, outcome);
    };
    own.ended = handOne(delivery, event).then(
      () => end('handed over'),
      (error: unknown) => end({ error }),
    );
  };
  const beginMore = (): void => {
    while (under_way.size < width()) {
      const event = batch.next(under_way);
      if (event === undefined) return;
      begin(event);
    }
  };

  for (;;) {
    const isOver = batch.isHalted() || delivery.stopping.aborted || (await isErased());
    if (!isOver) beginMore();
    if (under_way.size === 0) break;
    await Promise.race([...under_way.values()].map(({ ended }) => ended));
    signal.throwIfAborted();
    batch.advance();
    if (performance.now() - saved_at < save_ms) continue;
    await running.trace.flush();
    await saveProgress(running.db, lease, progress);
    saved_at = performance.now();
  }
  return batch.result();
}

/**
 * Ends that say nothing of the one event when others were under way: of the sandbox, or a host that
 * was refused to one of them.
 */
function isUnclear(error: unknown): boolean {
  return (
    error instanceof HostNeededError ||
    (error instanceof PluginError && ['timeout', 'memory'].includes(error.code))
  );
}

type Batch = {
  /** The first event that is not begun, and whose person has none under way. */
  next(under_way: ReadonlyMap<PluginEvent, unknown>): PluginEvent | undefined;
  end(event: PluginEvent, outcome: Outcome): void;
  /** Moves the place over what is finished from the beginning on. */
  advance(): void;
  isHalted(): boolean;
  result(): DeliveryEnd;
};

function openBatch(
  { running, plugin, log }: Delivery,
  progress: DeliveryProgress,
  events: PluginEvent[],
): Batch {
  const outcomes = new Map<PluginEvent, Outcome>();
  for (const event of events) if (plugin.handed.has(event.uuid)) outcomes.set(event, 'handed over');
  let finished = 0;
  let failed: { error: unknown } | undefined;
  let too_often: { error: unknown } | undefined;
  const batch: Batch = {
    next: (under_way) => {
      const busy = new Set([...under_way.keys()].map(({ distinct_id }) => distinct_id));
      return events.find(
        (event, index) => index >= finished && !outcomes.has(event) && !busy.has(event.distinct_id),
      );
    },
    end: (event, outcome) => {
      if (outcome !== 'handed over' && mayPass(outcome.error)) {
        failed ??= outcome;
        return;
      }
      outcomes.set(event, outcome);
      if (outcome === 'handed over') plugin.handed.add(event.uuid);
    },
    advance: () => {
      for (; finished < events.length && too_often === undefined; finished += 1) {
        const event = events[finished]!;
        const outcome = outcomes.get(event);
        if (outcome === undefined) return;
        plugin.handed.delete(event.uuid);
        if (outcome === 'handed over') {
          progress.succeeded(event);
          continue;
        }
        log.write(
          'ERROR',
          `Passed over the event ${event.uuid}: ${describeFailure(outcome.error)}`,
        );
        progress.passedOver(event);
        if (progress.failures >= running.failures_max) too_often = outcome;
      }
    },
    isHalted: () => failed !== undefined || too_often !== undefined,
    result: () => {
      batch.advance();
      if (too_often !== undefined)
        return { kind: 'failed too often', error: too_often.error, progress };
      if (failed !== undefined) return { kind: 'failed', error: failed.error, progress };
      if (finished < events.length) return { kind: 'stopping' };
      plugin.handed.clear();
      return { kind: 'done' };
    },
  };
  return batch;
}
