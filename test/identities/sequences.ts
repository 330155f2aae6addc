import { openRandom } from '../chaos/random.ts';
import type { Random } from '../chaos/random.ts';

/** An event as a client sends it. */
export type SentEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: Record<string, unknown>;
};

/** Ids that name nobody; everyone uses them, and no merge may use them. */
export const nobody = ['null', 'Guest', '0', '"undefined"'];

const events_per_sequence_max = 16;
// A forced merge starts its own batch; with more of them, batches would be small.
const kinds = [
  ...Array(15).fill('seen'),
  ...Array(9).fill('$set'),
  ...Array(6).fill('$set_once'),
  ...Array(3).fill('$unset'),
  ...Array(15).fill('$identify'),
  ...Array(6).fill('$create_alias'),
  '$merge_dangerously',
  ...Array(3).fill('$groupidentify'),
] as string[];

/**
 * Returns the events of this many sequences of a project, each about its own persons and about
 * unknown ones. They are in order within a sequence, and the sequences are mixed. A few are
 * repeated with another content. The same seed gives the same events.
 */
export function eventsOf(seed: number, project: number, sequences: number): SentEvent[] {
  const random = openRandom(seed, project);
  // With few at a time, batches mix events of few sequences; with many, of many.
  const open_max = random.one([1, 3, 30]);
  const open: { number: number; left: number }[] = [];
  const events: SentEvent[] = [];
  for (let number = 0; number < sequences || open.length > 0;) {
    for (; open.length < open_max && number < sequences; number += 1)
      open.push({ number, left: random.between(2, events_per_sequence_max) });
    const at = random.between(0, open.length - 1);
    const sequence = open[at]!;
    const uuid = `00000000-0000-4000-8000-${events.length.toString(16).padStart(12, '0')}`;
    const earlier = random.next() < 0.03 ? events.at(-random.between(1, 20))?.uuid : undefined;
    events.push({ uuid: earlier ?? uuid, ...eventOf(random, sequence.number) });
    sequence.left -= 1;
    if (sequence.left === 0) open.splice(at, 1);
  }
  return events;
}

function eventOf(random: Random, sequence: number): Omit<SentEvent, 'uuid'> {
  const ids = ['v1', 'v2', 'v3', 'ada', 'bob', 'carl'].map((id) => `${sequence}-${id}`);
  const someone = () => (random.next() < 0.03 ? random.one(nobody) : random.one(ids));
  const distinct_id = someone();
  const event = random.one(kinds);
  const keys = ['a', 'b', 'c'];
  const values = () => ({ [random.one(keys)]: random.between(1, 3) });
  const sets = random.next() < 0.3 ? { $set: values() } : {};
  switch (event) {
    case '$set':
      return { event, distinct_id, properties: { $set: { ...values(), ...values() } } };
    case '$set_once':
      return { event, distinct_id, properties: { ...sets, $set_once: values() } };
    case '$unset':
      return { event, distinct_id, properties: { ...sets, $unset: [random.one(keys)] } };
    case '$identify': {
      const anonymous = random.next() < 0.1 ? {} : { $anon_distinct_id: someone() };
      return { event, distinct_id, properties: { ...anonymous, ...sets } };
    }
    case '$create_alias':
    case '$merge_dangerously':
      return { event, distinct_id, properties: { alias: someone(), ...sets } };
    case '$groupidentify':
      return { event, distinct_id, properties: { $group_type: 'g', $group_key: 'k' } };
    default:
      return { event, distinct_id, properties: sets };
  }
}

/** Returns the events split into batches, by the same seed. */
export function batchesOf(seed: number, project: number, events: SentEvent[]): SentEvent[][] {
  const random = openRandom(seed, 1_000_000 + project);
  // Larger batches for many events, so that it ends in time.
  const largest = random.one([10, 40, 200]) * Math.max(1, Math.round(events.length / 2_000));
  const batches: SentEvent[][] = [];
  for (let from = 0; from < events.length; from += batches.at(-1)!.length)
    batches.push(events.slice(from, from + random.between(1, largest)));
  return batches;
}
