import { openTurns } from '../../platform/pacing/turns.ts';
import type { Warning } from './warnings/warning.ts';
import type { IncomingEvent } from './parse/event.ts';
import type { LoadedPersons } from './persons/load_persons.ts';
import { PersonBatch } from './persons/person_batch.ts';
import type { PersonRow } from './persons/person_batch.ts';

/**
 * A row of `events` without its batch's instants; `written` has the fields of `properties` and
 * `elements_chain`.
 */
export type EventRow = Pick<
  IncomingEvent,
  'uuid' | 'event' | 'distinct_id' | 'timestamp' | 'properties' | 'elements_chain' | 'written'
> & {
  team_id: number;
  person_id: string;
  person_properties: string;
};

/**
 * The rows of a batch, and the requested changes of persons that were not made: recorded once the
 * rows are stored.
 */
export type BatchRows = { events: EventRow[]; persons: PersonRow[]; warnings: Warning[] };

/**
 * Creates the rows of the first events in order, as many as fit into `bytes_max` written bytes
 * (including persons' properties), and at least one. `before` has the stored persons. A changed
 * person gets one new version, however many events changed it. Yields to the event loop between
 * events.
 */
export async function buildRows(
  teamId: number,
  events: IncomingEvent[],
  before: LoadedPersons,
  bytes_max: number,
): Promise<BatchRows> {
  const persons = new PersonBatch(teamId, before);
  const rows: EventRow[] = [];
  const warnings: Warning[] = [];
  let bytes = 0;
  const turn = openTurns();
  for (const event of events) {
    const pause = turn();
    if (pause !== undefined) await pause;
    const { uuid, event: name, distinct_id, timestamp } = event;
    const { properties, elements_chain, written } = event;
    const applied = persons.apply(event);
    bytes += event.bytes + applied.properties_bytes + applied.moved_bytes;
    if (rows.length > 0 && bytes > bytes_max) {
      // The event waits for the next batch, with its changes to persons.
      persons.undo();
      break;
    }
    for (const reason of applied.warnings)
      warnings.push(warningOf(teamId, event, { reason, sent: event.merge?.other }));
    if (event.group_fault !== undefined) warnings.push(warningOf(teamId, event, event.group_fault));
    rows.push({
      team_id: teamId,
      uuid,
      event: name,
      distinct_id,
      person_id: applied.person_id,
      person_properties: applied.properties,
      timestamp,
      // Last, because a long event has these two as `written`.
      properties,
      elements_chain,
      written,
    });
  }
  return { events: rows, persons: persons.versions(), warnings };
}

function warningOf(
  team_id: number,
  { uuid, event, distinct_id }: IncomingEvent,
  { reason, sent }: Pick<Warning, 'reason'> & { sent: string | undefined },
): Warning {
  return { team_id, reason, example: { event, distinct_id, uuid, sent } };
}
