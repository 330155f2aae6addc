import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { settled } from '../../ingest/lock.ts';
import { openProgress } from './delivery.ts';
import type { Delivery, DeliveryBatch, DeliveryEnd, DeliveryProgress } from './delivery.ts';
import { openErasedMeanwhile } from './erased_meanwhile.ts';
import { describeFailure, mayPass } from './failures.ts';
import { handOverEach } from './hand_over_each.ts';
import type { ConfigState } from './leases.ts';
import { saveProgress } from './leases.ts';
import { readEvents } from './read_events.ts';
import type { PluginEvent } from './read_events.ts';
import { deliverToTool } from './sending/send_to_tool.ts';
import { sendWebhook } from './webhook.ts';

const single_rows_max = 100;
const batch_rows_max = 500;
const single_bytes_max = 4 * 1024 * 1024;

/**
 * Hands the plugin the next events of its project, in order, and stores its progress. Guarantees:
 * only final events are read, so none can appear before the cursor; an event is skipped only if it
 * was acknowledged, dropped by `processEvent`, or failed with an error that a retry cannot mend
 * (which is logged); a crash repeats at most one batch. Work that waits for a host that is not
 * allowed has failed with a HostNeededError; events erased after reading are not handed over.
 * Throws LeaseLostError.
 */
export async function deliverEvents(delivery: Delivery, state: ConfigState): Promise<DeliveryEnd> {
  const { running, lease, plugin, signal } = delivery;
  if (plugin.tool !== undefined) return deliverToTool(delivery, plugin.tool, state);
  const exporting = plugin.capabilities.methods.includes('exportEvents')
    ? batchBounds(plugin.config)
    : undefined;
  const until = await running.db.transaction((tx) => settled(tx, lease.team_id));
  const wanted = {
    team_id: lease.team_id,
    after: state.position,
    until,
    names: null,
    rows_max: exporting ? batch_rows_max : single_rows_max,
  };
  const bytes_max = exporting?.bytes_max ?? single_bytes_max;
  const isErased = openErasedMeanwhile(running, lease.team_id);
  const { events, is_end } = await caughtUp(running.clickhouse, ['events'], () =>
    readEvents(running.clickhouse, { ...wanted, bytes_max }, signal),
  );
  const [oldest] = events;
  const isYoung =
    exporting !== undefined &&
    oldest !== undefined &&
    Date.parse(until) - Date.parse(oldest.inserted_at) < exporting.seconds * 1000;
  if (is_end && isYoung) return { kind: 'waiting' };
  const progress = openProgress(state);
  const end = await handOver(delivery, progress, { events, isErased }, exporting);
  // An event that had its turn is in the trace, whatever becomes of this process.
  await running.trace.flush();
  // Nothing can appear before `until` any more.
  if (end.kind === 'done' && is_end) progress.position = { inserted_at: until, event_uuid: null };
  if (end.kind === 'done' || end.kind === 'stopping')
    await saveProgress(running.db, lease, progress);
  return end;
}

/** Hands events to a plugin of code once more. Throws what the plugin throws. */
export async function handOverAgain(delivery: Delivery, batch: DeliveryBatch): Promise<void> {
  const { methods } = delivery.plugin.capabilities;
  if (methods.includes('exportEvents') && !(await exportBatch(delivery, batch))) return;
  if (!methods.includes('onEvent') && !methods.includes('composeWebhook')) return;
  for (const event of batch.events) if (!(await batch.isErased())) await handOne(delivery, event);
}

type BatchBounds = { bytes_max: number; seconds: number; ignored: Set<string> };

/** Reads the batch bounds that users set in plugins of this kind, by their known names. */
function batchBounds(config: Record<string, unknown>): BatchBounds {
  const within = (value: unknown, standard: number, max: number) => {
    const number = Number(value ?? standard);
    return Number.isFinite(number) ? Math.min(Math.max(number, 1), max) : standard;
  };
  const ignored =
    typeof config['exportEventsToIgnore'] === 'string' ? config['exportEventsToIgnore'] : '';
  return {
    // Text in characters is what a call is bounded by, and every one of these bytes can be an
    // escape in it.
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

async function handOver(
  delivery: Delivery,
  progress: DeliveryProgress,
  batch: DeliveryBatch,
  exporting: BatchBounds | undefined,
): Promise<DeliveryEnd> {
  const hasSingle = ['onEvent', 'composeWebhook'].some((name) =>
    delivery.plugin.capabilities.methods.includes(name),
  );
  if (exporting !== undefined && batch.events.length > 0) {
    const until = hasSingle ? undefined : batch.events.at(-1);
    const end = await handOverBatch(delivery, progress, batch, until, exporting);
    if (end !== undefined) return end;
  }
  return hasSingle ? handOverEach(delivery, progress, batch, handOne) : { kind: 'done' };
}

/**
 * Hands a batch over as one; `until` is the event up to which that is all. Gives how the turn ends,
 * undefined when it goes on.
 */
async function handOverBatch(
  delivery: Delivery,
  progress: DeliveryProgress,
  { events, isErased }: DeliveryBatch,
  until: PluginEvent | undefined,
  exporting: BatchBounds,
): Promise<DeliveryEnd | undefined> {
  const { signal, log, running } = delivery;
  const wanted = events.filter(({ event }) => !exporting.ignored.has(event));
  try {
    if (!(await exportBatch(delivery, { events: wanted, isErased }))) return { kind: 'stopping' };
    progress.succeeded(until);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (mayPass(error)) return { kind: 'failed', error, progress };
    const about =
      events.length === 1
        ? `the event ${events[0]!.uuid}`
        : `${events.length} events from ${events[0]!.uuid} to ${events.at(-1)!.uuid}`;
    log.write('ERROR', `Passed over ${about}: ${describeFailure(error)}`);
    progress.passedOver(until);
    return progress.failures < running.failures_max
      ? undefined
      : { kind: 'failed too often', error, progress };
  }
}

/** False where the batch is to be read anew. */
async function exportBatch(
  delivery: Delivery,
  { events, isErased }: DeliveryBatch,
): Promise<boolean> {
  const { plugin, signal } = delivery;
  const processed: unknown[] = [];
  for (const event of events) {
    if (await isErased()) return false;
    const result = await processedBy(delivery, event);
    if (result !== null) processed.push(result);
  }
  if (await isErased()) return false;
  if (processed.length > 0)
    await plugin.call(events[0]!.uuid, 'exportEvents', processed, signal, events);
  return true;
}

async function handOne(delivery: Delivery, event: PluginEvent): Promise<void> {
  const { plugin, signal, running } = delivery;
  const { methods } = plugin.capabilities;
  const given = await processedBy(delivery, event);
  if (given === null) return;
  if (methods.includes('onEvent')) await plugin.call(event.uuid, 'onEvent', given, signal, [event]);
  if (!methods.includes('composeWebhook')) return;
  await sendWebhook(
    running.outbound,
    plugin,
    await plugin.call(`${event.uuid} webhook`, 'composeWebhook', given, signal, [event]),
    signal,
  );
}

/** The event as the plugin's own `processEvent` makes it, null when it drops it. */
async function processedBy({ plugin, signal }: Delivery, event: PluginEvent): Promise<unknown> {
  return plugin.capabilities.methods.includes('processEvent')
    ? plugin.call(`${event.uuid} process`, 'processEvent', event, signal, [event])
    : event;
}
