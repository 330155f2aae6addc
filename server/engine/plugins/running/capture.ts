import { v5 as uuidv5 } from 'uuid';
import type { Clock } from '../../../platform/clock.ts';
import type { Ingestion } from '../../ingest/batcher.ts';
import { takeEvents } from '../../ingest/stream.ts';
import { PluginError } from '../plugin.ts';
import type { CapturedEvent } from '../sandbox/host_services.ts';

/**
 * The call that captures an event: `key` is the same in a retry of the call; `sources` are the
 * configs that its events originate from, undefined if it handles none.
 */
export type Call = {
  key: string;
  captured: Map<string, number>;
  sources: number[] | undefined;
};

/** The property of a captured event that lists its source configs. */
const sources_key = '$plugin_configs';
/** Anybody may send the property, and each id is searched in all events of a batch. */
const sources_max = 100;

/**
 * Returns the configs that all of these events originate from: those whose plugins captured them,
 * or their sources. A batch with other events has no sources.
 */
export function sourcesOf(events: { properties: Record<string, unknown> }[]): number[] {
  const [first = [], ...others] = events.map(({ properties }) => {
    const found = properties[sources_key];
    return Array.isArray(found) ? found.slice(0, sources_max) : [];
  });
  return first.filter(
    (id): id is number => typeof id === 'number' && others.every((ids) => ids.includes(id)),
  );
}

/** The plugin that captures events. */
type Capturer = { team_id: number; config_id: number; plugin_name: string };

/** The namespace of the uuids created here. */
const name_space = 'd7b8a1c6-52f4-4d0e-9a53-6f1c1e0b7c35';

/**
 * Stores an event in the plugin's project, like an event sent to the API. Guarantees: when it
 * resolves, the event survives a crash. A retried call that captures the same event again, or any
 * call that captures one with a timestamp again, stores it once. An event that answers a captured
 * event of the same config is not stored, and the result is false: it would be answered endlessly.
 * Throws a PluginError for an invalid event, another error if the store is unavailable.
 */
export async function captureEvent(
  ingestion: Ingestion,
  clock: Clock,
  { team_id, config_id, plugin_name }: Capturer,
  call: Call,
  event: CapturedEvent,
): Promise<boolean> {
  const { sources } = call;
  if (sources?.includes(config_id) === true) return false;
  const properties = {
    ...event.properties,
    $lib: 'sluice-plugin',
    $plugin: plugin_name,
    ...(sources === undefined ? {} : { [sources_key]: [...sources, config_id] }),
  };
  const sent = {
    uuid: uuidOf(config_id, call, event),
    event: event.event,
    distinct_id: event.distinct_id ?? plugin_name,
    ...(event.timestamp === null ? {} : { timestamp: event.timestamp }),
    properties,
  };
  const { failure, problems } = await takeEvents(ingestion, team_id, [sent], () => clock.now());
  const [problem] = problems;
  if (problem !== undefined)
    throw new PluginError(
      'invalid',
      `The event is refused: ${problem.attr === null ? '' : `${problem.attr}: `}` + problem.detail,
    );
  if (failure !== undefined) throw new Error(`The event was not stored: ${failure}.`);
  return true;
}

/** Repeated captures in one call are separate events, so they are numbered within the call. */
function uuidOf(
  config_id: number,
  call: Call,
  { event, distinct_id, timestamp, properties }: CapturedEvent,
): string {
  const content = JSON.stringify([
    config_id,
    timestamp === null ? call.key : null,
    event,
    distinct_id,
    timestamp,
    properties,
  ]);
  const name = uuidv5(content, name_space);
  const number = (call.captured.get(name) ?? 0) + 1;
  call.captured.set(name, number);
  return uuidv5(`${name} ${number}`, name_space);
}
