import type { Database, Queryable } from '../../../../platform/postgres/database.ts';
import type { Lease } from '../leases.ts';
import type { PluginEvent } from '../read_events.ts';
import { openPersons } from './persons.ts';
import type { OfPerson, Persons } from './persons.ts';
import { listWaiting, saveWaiting, waiting_max } from './waiting.ts';
import type { Waiting } from './waiting.ts';

/** An event at a mapping. */
type Place = Pick<Waiting, 'mapping' | 'event_uuid'>;

/** The waiting events of one config in its worker's memory. */
export type WaitingRoom = {
  /** Number of events that still fit. */
  readonly room: number;
  /**
   * Returns the lines of waiting events, by mapping and person; `persons` has joined all of them.
   */
  lines(persons: Persons): Map<string, Waiting[]>;
  has(place: Place): boolean;
  /** Adds a row or updates it. */
  keep(row: Waiting): void;
  remove(row: Waiting): void;
  /** Takes the changes to store; `undo` gives them back after a failure. */
  changes(): { save(tx: Queryable, lease: Lease): Promise<void>; undo(): void };
};

/** Reads the waiting events. */
export async function openWaitingRoom(db: Database, config_id: number): Promise<WaitingRoom> {
  const keyOf = ({ mapping, event_uuid }: Place) => `${event_uuid} ${mapping}`;
  const rows = new Map((await listWaiting(db, config_id)).map((row) => [keyOf(row), row]));
  const kept = new Map<string, Waiting>();
  const gone = new Map<string, Waiting>();
  return {
    get room() {
      return waiting_max - rows.size;
    },
    lines: (persons) => {
      for (const row of rows.values()) persons.join(row);
      return Map.groupBy(rows.values(), (row) => lineOf(row.mapping, persons, row));
    },
    has: (place) => rows.has(keyOf(place)),
    keep: (row) => {
      rows.set(keyOf(row), row);
      kept.set(keyOf(row), row);
    },
    remove: (row) => {
      rows.delete(keyOf(row));
      kept.delete(keyOf(row));
      gone.set(keyOf(row), row);
    },
    changes: () => {
      const [now_kept, now_gone] = [[...kept], [...gone]];
      kept.clear();
      gone.clear();
      return {
        save: (tx, lease) =>
          saveWaiting(
            tx,
            lease,
            now_kept.map(([, row]) => row),
            now_gone.map(([, row]) => row),
          ),
        undo: () => {
          for (const [key, row] of now_kept) if (rows.has(key)) kept.set(key, row);
          for (const [key, row] of now_gone) if (!rows.has(key)) gone.set(key, row);
        },
      };
    },
  };
}

/** Returns the line of an event: its mapping and its person. */
export function lineOf(mapping: string, persons: Persons, event: OfPerson): string {
  return `${persons.of(event)} ${mapping}`;
}

/** Returns the persons of the events. */
export function personsOf(events: PluginEvent[]): Persons {
  const persons = openPersons();
  for (const event of events) persons.join(ofEvent(event));
  return persons;
}

/** Returns the two ids of an event's person. */
export function ofEvent({ distinct_id, person }: PluginEvent): OfPerson {
  return { distinct_id, person_id: person.id };
}
