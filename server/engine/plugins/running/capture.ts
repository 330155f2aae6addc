import { v5 as uuidv5 } from 'uuid';
import type { Clock } from '../../../platform/clock.ts';
import type { Ingestion } from '../../ingest/batcher.ts';
import { takeEvents } from '../../ingest/stream.ts';
import { PluginError } from '../plugin.ts';
import type { CapturedEvent } from '../sandbox/host_services.ts';

/**
 * The call during which something is captured: `key` is the same when the call is tried again;
 * `sources` are the configs that the events it is about go back to, undefined where it is about
 * none.
 */
export type Call = {
  key: string;
  captured: Map<string, number>;
  sources: number[] | undefined;
};

/** The property of a captured event that says to which configs it goes back. */
const sources_key = '$plugin_configs';
/** Anybody may send the property, and each id is looked for in all events of a batch. */
const sources_max = 100;

/**
 * To which configs all of these events go back: those whose plugins captured them, or what they
 * answer. A batch that has others too goes back to none.
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

/** The name space of the uuids that are created here. */
const name_space = 'd7b8a1c6-52f4-4d0e-9a53-6f1c1e0b7c35';

/**
 * Stores an event in the plugin's project, by the way that events sent to the API take. Guarantees:
 * when it resolves, the event survives a crash; the same event captured again by a call that is
 * tried again, and one with a timestamp captured again by any call, is stored once. One that would
 * answer what the same config captured in answer to an event is not stored, and the result is
 * false: it would be answered in turn, without end. Throws a PluginError for an event that is not
 * taken, another error for a store that does not take it now.
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

/** Repeated captures in one call are separate events: they are counted within the call. */
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
