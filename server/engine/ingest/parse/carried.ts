import type { LongEvent, PlainEvent, ReadEvent, UnreadEvent } from './event.ts';
import { tabField } from '../tab_field.ts';
import { parseExact } from './exact_json.ts';
import type { JsonObject } from './exact_json.ts';

/** From this many bytes, an event is passed as the bytes of its insert. */
const written_bytes_min = 16 * 1024;

type Carried<Event> = Omit<Event, 'set' | 'set_once'> & {
  set: string | undefined;
  set_once: string | undefined;
};

/**
 * The form of an event that threads exchange: long texts as bytes, and a person's sets as JSON
 * text, because numbers with their original notation cannot be transferred.
 */
export type CarriedRead =
  | { event: Carried<PlainEvent> | Carried<LongEvent>; problems?: undefined }
  | UnreadEvent;

/** Converts a read event for another thread. */
export function carried(read: ReadEvent<PlainEvent>): CarriedRead {
  if (read.event === undefined) return read;
  const { set, set_once } = read.event;
  const texts = { set: textOf(set), set_once: textOf(set_once) };
  if (read.event.bytes < written_bytes_min) return { event: { ...read.event, ...texts } };
  const { properties, elements_chain, written: _none, ...event } = read.event;
  const fields = `${tabField(properties)}\t${tabField(elements_chain)}`;
  return { event: { ...event, ...texts, written: new TextEncoder().encode(fields) } };
}

/** Restores a read event from its transferred form. */
export function arrived(read: CarriedRead): ReadEvent {
  if (read.event === undefined) return read;
  const { set, set_once, ...event } = read.event;
  return {
    event: { ...event, set: objectOf(set), set_once: objectOf(set_once) },
  };
}

function textOf(value: JsonObject | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

function objectOf(text: string | undefined): JsonObject | undefined {
  return text === undefined ? undefined : (parseExact(text) as JsonObject);
}
