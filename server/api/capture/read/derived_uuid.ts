import { namespaceOf, nameUuid } from '../../../engine/ingest/parse/create_uuid.ts';
import type { Draft } from '../protocol.ts';
import { milliseconds_min, readNumber, readTime } from './times.ts';

// Never changes: the same event gets the same uuid on every server.
const event_namespace = namespaceOf('c4b7e8a2-3f6d-5b1e-8a40-6d2f91e7035b');

/**
 * Events about persons that can safely be stored once, even if their times have no fraction of a
 * second.
 */
const of_persons = new Set([
  '$identify',
  '$create_alias',
  '$merge_dangerously',
  '$groupidentify',
  '$set',
]);

/**
 * Opens the naming of events without an id, for a request with the key. Guarantee: a repeated
 * request gives the same uuids, so that its events are stored once. Two events of one request
 * always get two uuids, even if they are equal. Undefined for an event whose time is too coarse to
 * distinguish it from a later equal one.
 */
export function openDerivedUuids(key: string): (draft: Draft) => string | undefined {
  const seen = new Map<string, number>();
  return ({ mended: _mended, source: _source, ...draft }) => {
    const { name, at } = draft;
    const is_of_person = typeof name === 'string' && of_persons.has(name);
    if (readTime(at) === undefined || !(is_of_person || isFine(at))) return undefined;
    const text = `${key}\n${JSON.stringify(draft)}`;
    const uuid = nameUuid(text, event_namespace);
    const before = seen.get(uuid) ?? 0;
    seen.set(uuid, before + 1);
    return before === 0 ? uuid : nameUuid(`${text}\n${before}`, event_namespace);
  };
}

/** Names the events of a refused event that is sent again: the same uuids each time. */
export function openUuidsAgain(id: string): () => string {
  const namespace = namespaceOf(id);
  let at = 0;
  return () => {
    at += 1;
    return nameUuid(String(at), namespace);
  };
}

/** Returns true if the time is finer than a second. */
function isFine(at: unknown): boolean {
  const number = readNumber(typeof at === 'string' && /^\d+$/.test(at) ? Number(at) : at);
  if (number !== undefined) return number >= milliseconds_min || !Number.isInteger(number);
  return typeof at === 'string' && /\d[.,]\d/.test(at);
}
