import { openTurns } from '../../platform/turns.ts';
import type { Warning } from '../ingestion_warnings/warning.ts';
import type { IncomingEvent } from './event.ts';
import { applySet, draftOf, personId } from './person.ts';
import type { Person, PersonDraft } from './person.ts';

/**
 * A row of `events` without its batch's instants; `written` are members of it that are JSON
 * already.
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
 * A new version of a person without its batch's instants; `created_at` is missing in the first one.
 */
export type PersonRow = Omit<Person, 'created_at'> & {
  created_at: string | undefined;
  team_id: number;
  distinct_id: string;
  is_deleted: 0;
};

/**
 * The rows of a batch, and what was not done of what its events say of persons: to be noted once
 * they are stored.
 */
export type BatchRows = { events: EventRow[]; persons: PersonRow[]; warnings: Warning[] };

/**
 * Makes the rows of the first events, in their order, as many as fit into `bytes_max` bytes as they
 * are written, persons' properties included, and at least one. `before` has the stored persons. A
 * person that changes gets one new version, however many of the events changed it. Others get their
 * turn on the event loop between events.
 */
export async function buildRows(
  teamId: number,
  events: IncomingEvent[],
  before: Map<string, Person>,
  bytes_max: number,
): Promise<BatchRows> {
  const drafts = new Map<string, PersonDraft & { person_id: string }>();
  const rows: EventRow[] = [];
  const warnings: Warning[] = [];
  let bytes = 0;
  const turn = openTurns();
  for (const event of events) {
    const pause = turn();
    if (pause !== undefined) await pause;
    const { uuid, event: name, distinct_id, timestamp } = event;
    const { properties, elements_chain, written } = event;
    let draft = drafts.get(distinct_id);
    if (draft === undefined) {
      const person = before.get(distinct_id);
      draft = { ...draftOf(person), person_id: person?.person_id ?? personId(teamId, distinct_id) };
    }
    const earlier = { ...draft };
    const isApplied = applySet(draft, event);
    bytes += event.bytes + draft.properties_bytes;
    if (rows.length > 0 && bytes > bytes_max) {
      // The event waits for the next batch, and with it what it does to its person.
      if (drafts.has(distinct_id)) drafts.set(distinct_id, earlier);
      break;
    }
    drafts.set(distinct_id, draft);
    if (!isApplied)
      warnings.push({
        team_id: teamId,
        reason: 'person_too_large',
        example: { event: name, distinct_id, uuid },
      });
    rows.push({
      team_id: teamId,
      uuid,
      event: name,
      distinct_id,
      person_id: draft.person_id,
      properties,
      person_properties: draft.properties,
      elements_chain,
      timestamp,
      written,
    });
  }
  return { events: rows, persons: versionsOf(teamId, drafts, before), warnings };
}

function versionsOf(
  teamId: number,
  drafts: Map<string, PersonDraft & { person_id: string }>,
  before: Map<string, Person>,
): PersonRow[] {
  return [...drafts]
    .filter(([, draft]) => draft.is_changed)
    .map(([distinct_id, { person_id, properties }]) => {
      const person = before.get(distinct_id);
      return {
        person_id,
        properties,
        person_version: (person?.person_version ?? 0) + 1,
        person_distinct_id_version: person?.person_distinct_id_version ?? 1,
        created_at: person?.created_at,
        team_id: teamId,
        distinct_id,
        is_deleted: 0,
      };
    });
}
