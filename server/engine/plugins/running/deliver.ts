import { settled } from '../../ingest/lock.ts';
import { describeFailure, mayPass } from './failures.ts';
import type { ConfigState, Lease } from './leases.ts';
import { saveProgress } from './leases.ts';
import type { LoadedConfig } from './loaded_config.ts';
import type { PluginLog } from './plugin_log.ts';
import { readEvents } from './read_events.ts';
import type { PluginEvent } from './read_events.ts';
import type { Running } from './running.ts';
import { sendWebhook } from './webhook.ts';

/** What a delivery works with. `stopping` is aborted when the worker shall end at the next safe point, `signal` when it must not do anything more. */
export type Delivery = {
  running: Running;
  lease: Lease;
  plugin: LoadedConfig;
  log: PluginLog;
  signal: AbortSignal;
  stopping: AbortSignal;
};

/**
 * How a turn ended: `waiting`, a batch is not full and not old enough yet; `stopping`, before the end of the batch; `failed`, the same has to be tried again; `failed too often`, so many events in a row were
 * passed over that the config is to be stopped. The last two have kept nothing.
 */
type DeliveryEnd =
  | { kind: 'done' | 'waiting' | 'stopping' }
  | {
      kind: 'failed' | 'failed too often';
      error: unknown;
      progress: Pick<ConfigState, 'position' | 'failures' | 'series'>;
    };

const single_rows_max = 100;
const batch_rows_max = 500;
const single_bytes_max = 4 * 1024 * 1024;
const save_ms = 1_000;

/**
 * Hands the plugin the next events of its project, in order, and keeps how far it has come. Guarantees: only events that are final are read, so none can appear before the cursor; an event is passed over only
 * when it was acknowledged, dropped by `processEvent`, or failed with an error that another try cannot mend (which is logged); a crash repeats at most one batch. Throws LeaseLostError.
 */
export async function deliverEvents(delivery: Delivery, state: ConfigState): Promise<DeliveryEnd> {
  const { running, lease, plugin, signal } = delivery;
  const exporting = plugin.capabilities.methods.includes('exportEvents')
    ? batchBounds(plugin.config)
    : undefined;
  const until = await running.db.transaction((tx) => settled(tx, lease.team_id));
  const wanted = {
    team_id: lease.team_id,
    after: state.position,
    until,
    rows_max: exporting ? batch_rows_max : single_rows_max,
  };
  const { events, is_end } = await readEvents(
    running.clickhouse,
    { ...wanted, bytes_max: exporting?.bytes_max ?? single_bytes_max },
    signal,
  );
  const [oldest] = events;
  const isYoung =
    exporting !== undefined &&
    oldest !== undefined &&
    Date.parse(until) - Date.parse(oldest.inserted_at) < exporting.seconds * 1000;
  if (is_end && isYoung) return { kind: 'waiting' };
  const progress = openProgress(state);
  const end = await handOver(delivery, progress, events, exporting);
  // Nothing can appear before `until` any more.
  if (end.kind === 'done' && is_end) progress.position = { inserted_at: until, event_uuid: null };
  if (end.kind === 'done' || end.kind === 'stopping')
    await saveProgress(running.db, lease, progress);
  return end;
}

type BatchBounds = { bytes_max: number; seconds: number; ignored: Set<string> };

/** What plugins of this kind let their users set, by the names that they know. */
function batchBounds(config: Record<string, unknown>): BatchBounds {
  const within = (value: unknown, standard: number, max: number) => {
    const number = Number(value ?? standard);
    return Number.isFinite(number) ? Math.min(Math.max(number, 1), max) : standard;
  };
  const ignored =
    typeof config['exportEventsToIgnore'] === 'string' ? config['exportEventsToIgnore'] : '';
  return {
    // Text in characters is what a call is bounded by, and every one of these bytes can be an escape in it.
    bytes_max: within(config['exportEventsBufferBytes'], 1024 * 1024, 4 * 1024 * 1024),
    seconds: within(config['exportEventsBufferSeconds'], 10, 600),
    ignored: new Set(
      ignored
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  };
}

/** What a delivery has come to; `until` undefined: the events are handed over in a further step, so the place stays. */
type DeliveryProgress = Pick<ConfigState, 'position' | 'failures' | 'series'> & {
  succeeded(until: PluginEvent | undefined): void;
  passedOver(until: PluginEvent | undefined): void;
};

function openProgress({ position, failures, series }: ConfigState): DeliveryProgress {
  const move = (until: PluginEvent | undefined): void => {
    if (until !== undefined)
      progress.position = { inserted_at: until.inserted_at, event_uuid: until.uuid };
  };
  const progress: DeliveryProgress = {
    position,
    failures,
    series,
    succeeded: (until) => {
      move(until);
      progress.failures = 0;
      progress.series = null;
    },
    passedOver: (until) => {
      progress.series ??= progress.position;
      progress.failures += 1;
      move(until);
    },
  };
  return progress;
}

async function handOver(
  delivery: Delivery,
  progress: DeliveryProgress,
  events: PluginEvent[],
  exporting: BatchBounds | undefined,
): Promise<DeliveryEnd> {
  const hasSingle = ['onEvent', 'composeWebhook'].some((name) =>
    delivery.plugin.capabilities.methods.includes(name),
  );
  if (exporting !== undefined && events.length > 0) {
    const wanted = events.filter(({ event }) => !exporting.ignored.has(event));
    const end = await step(delivery, progress, events, hasSingle ? undefined : events.at(-1), () =>
      exportBatch(delivery, wanted),
    );
    if (end !== undefined) return end;
  }
  if (!hasSingle) return { kind: 'done' };
  let saved_at = performance.now();
  for (const event of events) {
    if (delivery.stopping.aborted) return { kind: 'stopping' };
    const end = await step(delivery, progress, [event], event, () => handOne(delivery, event));
    if (end !== undefined) return end;
    if (performance.now() - saved_at < save_ms) continue;
    await saveProgress(delivery.running.db, delivery.lease, progress);
    saved_at = performance.now();
  }
  return { kind: 'done' };
}

/** Does one step that is about these events. Gives how the turn ends, undefined when it goes on. */
async function step(
  { signal, log, running }: Delivery,
  progress: DeliveryProgress,
  events: PluginEvent[],
  until: PluginEvent | undefined,
  work: () => Promise<void>,
): Promise<DeliveryEnd | undefined> {
  try {
    await work();
    progress.succeeded(until);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (mayPass(error)) return { kind: 'failed', error, progress };
    const [first, last] = [events[0]!.uuid, events.at(-1)!.uuid];
    const about =
      events.length === 1
        ? `the event ${last}`
        : `${events.length} events from ${first} to ${last}`;
    log.write('ERROR', `Passed over ${about}: ${describeFailure(error)}`);
    progress.passedOver(until);
    return progress.failures < running.failures_max
      ? undefined
      : { kind: 'failed too often', error, progress };
  }
}

async function exportBatch(delivery: Delivery, events: PluginEvent[]): Promise<void> {
  const { plugin, signal } = delivery;
  const processed: unknown[] = [];
  for (const event of events) {
    const result = await processedBy(delivery, event);
    if (result !== null) processed.push(result);
  }
  if (processed.length > 0) await plugin.call(events[0]!.uuid, 'exportEvents', processed, signal);
}

async function handOne(delivery: Delivery, event: PluginEvent): Promise<void> {
  const { plugin, signal, running } = delivery;
  const { methods } = plugin.capabilities;
  const given = await processedBy(delivery, event);
  if (given === null) return;
  if (methods.includes('onEvent')) await plugin.call(event.uuid, 'onEvent', given, signal);
  if (!methods.includes('composeWebhook')) return;
  await sendWebhook(
    running.outbound,
    plugin.allowed_hosts,
    await plugin.call(`${event.uuid} webhook`, 'composeWebhook', given, signal),
    signal,
  );
}

/** The event as the plugin's own `processEvent` makes it, null when it drops it. */
async function processedBy({ plugin, signal }: Delivery, event: PluginEvent): Promise<unknown> {
  return plugin.capabilities.methods.includes('processEvent')
    ? plugin.call(`${event.uuid} process`, 'processEvent', event, signal)
    : event;
}
