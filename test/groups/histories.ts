import { parseExact } from '../../server/engine/ingest/parse/exact_json.ts';
import type { Random } from '../chaos/random.ts';
import type { StoredEvent } from '../made_of_events/stores.ts';
import { uuidOf } from '../sessions/histories.ts';

/** A `$groupidentify` event with its group, or with none. */
export type Call = StoredEvent & {
  group: { type: string; key: string } | undefined;
  /** The properties that it sets, as JSON texts. */
  set: Record<string, string>;
};

/** A change of a project's groups at one instant of insertion. */
export type Moment =
  | { kind: 'calls'; calls: Call[] }
  | { kind: 'erasure'; distinct_id: string }
  | { kind: 'retention'; before: number };

/** Returns a value whose JSON is this text. */
const asSent = (text: string) => (parseExact(`[${text}]`) as unknown[])[0];

const second = 1_000_000;
const start_at = Date.UTC(2026, 5, 1) * 1_000;
const types = ['company', 'project', 'Straße', 'a b'];
const names = ['name', 'plan', 'seats', 'größe', '', 'x"y\\z', 'a/b', 'list', 'nested'];
// Numbers in notations that readers of JSON change or refuse, and texts that look like numbers.
const values = [
  '1',
  '1.0',
  '-0.0',
  '1.50',
  '1e5',
  '1e400',
  '12345678901234567890123',
  'true',
  'null',
  '""',
  '"free"',
  '"12345678901234567890123"',
  '"a:1,b"',
  '"\\u0000 \\u0001 \\"quoted\\" 😀 / \\\\"',
  '[]',
  '{}',
  '[1.0,"1.0",{"k":[1e5]}]',
  '{"k":1.10,"l":{"m":null}}',
];

/** Returns the key of a group, as JSON text and as plain text. */
function keyOf(random: Random, number: number): [sent: string, key: string] {
  return random.one<[string, string]>([
    [`"acme-${number}"`, `acme-${number}`],
    [`"a:b:${number}"`, `a:b:${number}`],
    [`"\\"größe\\" 😀 ${number}\\n"`, `"größe" 😀 ${number}\n`],
    [String(1_000 + number), String(1_000 + number)],
    [`${1_000_000 + number}.0`, String(1_000_000 + number)],
    [`123456789012345678901${number}`, `123456789012345678901${number}`],
  ]);
}

/** Fields that name no group. */
const unusable: Record<string, unknown>[] = [
  {},
  { $group_type: 'company' },
  { $group_type: '', $group_key: 'a' },
  { $group_type: 'company', $group_key: '' },
  { $group_type: 'a:b', $group_key: 'c' },
  { $group_type: 'company', $group_key: null },
  { $group_type: true, $group_key: 'a' },
  { $group_type: 'company', $group_key: ['a'] },
  { $group_type: 't'.repeat(101), $group_key: 'a' },
  { $group_type: 'company', $group_key: '😀'.repeat(301) },
  { $group_type: 'company', $group_key: 'a\0b' },
];

/** The calls of one group, in order of time. */
function groupCalls(random: Random, number: number): Call[] {
  const [sent_key, key] = keyOf(random, number);
  const type = random.one(types);
  let at = start_at + random.between(0, 3 * 3_600) * second;
  return Array.from({ length: random.between(1, 9) }, () => {
    // Equal times, long breaks, and clocks that are wrong by days.
    at += random.one([0, 0, 1, 5 * second, 3 * 3_600 * second]);
    const skew = random.next() < 0.05 ? random.between(-40, 40) * 86_400 * second : 0;
    const set: Record<string, string> = {};
    for (let many = random.between(0, 4); many > 0; many -= 1)
      set[random.one(names)] = random.one(values);
    const isUsable = random.next() < 0.95;
    const isSet = random.next() < 0.95;
    const sent = Object.fromEntries(
      Object.entries(set).map(([name, value]) => [name, asSent(value)]),
    );
    return {
      uuid: uuidOf(random),
      event: '$groupidentify',
      distinct_id: `person ${random.between(0, 29)}`,
      person_id: uuidOf(random),
      properties: {
        ...(isUsable ? { $group_type: type, $group_key: asSent(sent_key) } : random.one(unusable)),
        // A value that is no object sets nothing.
        $group_set: isSet ? sent : random.one([null, 'plan', ['plan'], asSent('1.0')]),
        ...(random.next() < 0.1 ? { $lib: 'a number: 1.0', big: 'BIG' } : {}),
      },
      group: isUsable ? { type, key } : undefined,
      set: isSet ? set : {},
      at: at + skew,
      taken: 0,
    };
  });
}

/**
 * Returns a project's history: groups whose calls arrive in batches, late and out of order. Between
 * them, calls are repeated, people erased and old events removed. `taken` grows from batch to
 * batch.
 */
export function projectHistory(random: Random, groups: number, batches: number): Moment[] {
  const all = Array.from({ length: groups }, (_, number) => groupCalls(random, number)).flat();
  const of = Array.from({ length: batches }, (): Call[] => []);
  for (const call of all) {
    const first = random.between(0, batches - 1);
    of[first]!.push(call);
    // Programs that fill the table themselves may insert an event twice.
    if (random.next() < 0.02) of[random.between(first, batches - 1)]!.push(call);
  }
  const moments: Moment[] = [];
  let taken = start_at + 86_400 * second;
  for (const [index, calls] of of.entries()) {
    taken += random.between(1, 600_000) * 1_000;
    const now = taken;
    moments.push({ kind: 'calls', calls: calls.map((call) => ({ ...call, taken: now })) });
    if (index > 1 && random.next() < 0.25)
      moments.push({ kind: 'erasure', distinct_id: `person ${random.between(0, 29)}` });
    if (index > 1 && random.next() < 0.4) moments.push({ kind: 'retention', before: now });
  }
  return moments;
}
