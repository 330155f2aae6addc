import { randomUUID } from 'node:crypto';
import type { Deps } from '../../../deps.ts';
import { readEvent, withProperties } from '../../../engine/plugins/running/read_events.ts';
import type { PluginEvent } from '../../../engine/plugins/running/read_events.ts';
import { caughtUpForAnswer } from '../../../platform/clickhouse/topology/caught_up.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { whileWaiting } from '../../../platform/http/while_waiting.ts';
import type { PluginTryOut } from './schema.ts';

/**
 * Returns the event in a body, or the stored event that it names. Throws 400 if there is none, or
 * if it is not stored.
 */
export async function wantedEvent(
  deps: Deps,
  team_id: number,
  { event_uuid, event }: Pick<PluginTryOut, 'event_uuid' | 'event'>,
): Promise<PluginEvent> {
  if (event_uuid !== undefined) return storedEvent(deps, team_id, event_uuid);
  if (event === undefined)
    throw invalid('event', 'required', 'Send an event, or the `event_uuid` of a stored one.');
  return eventOf(deps, team_id, event);
}

async function storedEvent(
  { clickhouse }: Deps,
  team_id: number,
  event_uuid: string,
): Promise<PluginEvent> {
  const event = await whileWaiting((signal) =>
    caughtUpForAnswer(clickhouse, ['events'], () =>
      readEvent(clickhouse, team_id, event_uuid, signal),
    ),
  );
  if (event === undefined)
    throw invalid('event_uuid', 'invalid_input', 'The project has no event with this uuid.');
  return event;
}

/** Returns the sent event in the form of a stored one. */
function eventOf(
  { clock }: Deps,
  team_id: number,
  { properties = {}, person = {}, ...sent }: NonNullable<PluginTryOut['event']>,
): PluginEvent {
  const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
  return withProperties({
    uuid: randomUUID(),
    timestamp: now,
    ...sent,
    team_id,
    inserted_at: now,
    properties,
    elements_chain: '',
    person: { id: person.id ?? randomUUID(), properties: person.properties ?? {} },
  });
}
