import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../test/depth.ts';
import { parseEvent } from '../parse/parse.ts';
import { personId } from './person.ts';
import type { Person } from './person.ts';
import { PersonBatch } from './person_batch.ts';

type Pair = [into: string, other: string];

/** To whom each distinct id belongs, and with which properties, after these identifications. */
function persons(pairs: Pair[], before: object[] = []) {
  const batch = new PersonBatch(1, { persons: new Map(), others: new Map() });
  const identifications = pairs.map(([distinct_id, other]) => ({
    event: '$identify',
    distinct_id,
    properties: { $anon_distinct_id: other },
  }));
  for (const sent of [...before, ...identifications])
    batch.apply(parseEvent(JSON.stringify(sent), 0).event!);
  const rows = batch.versions();
  return Object.fromEntries(
    rows.map((row) => [row.distinct_id, [row.belongs_to, row.is_deleted, row.properties]]),
  );
}

test('the order in which visitors become one customer does not change the persons', () => {
  const customer = fc.constantFrom('ada', 'bob', 'carl');
  const customers = fc.array(customer, { minLength: 1, maxLength: 12 });
  const orders = customers.chain((all) => {
    const pairs = all.map((into, number): Pair => [into, `v${number}`]);
    return fc.tuple(
      fc.shuffledSubarray(pairs, { minLength: pairs.length }),
      fc.shuffledSubarray(pairs, { minLength: pairs.length }),
    );
  });
  fc.assert(
    fc.property(orders, ([one, other]) => assert.deepEqual(persons(one), persons(other))),
    { numRuns: inDepth(100, 5_000) },
  );
});

test('order decides two things: the first customer has the visitor, the first value stays', () => {
  const first = persons([
    ['ada', 'v1'],
    ['bob', 'v1'],
  ]);
  const second = persons([
    ['bob', 'v1'],
    ['ada', 'v1'],
  ]);
  assert.deepEqual([first['v1']![0], second['v1']![0]], [first['ada']![0], first['bob']![0]]);
  const visited = [1, 2].map((a) => ({ event: 'e', distinct_id: `v${a}`, $set: { a } }));
  const ofAda = (others: string[]) =>
    persons(
      others.map((other): Pair => ['ada', other]),
      visited,
    )['ada']![2];
  assert.deepEqual([ofAda(['v1', 'v2']), ofAda(['v2', 'v1'])], ['{"a":1}', '{"a":2}']);
});

test('a merged person exists since the first of their visitors came', () => {
  const stored = (distinct_id: string, created_at: string): [string, Person] => [
    distinct_id,
    {
      person_id: personId(1, distinct_id),
      properties: '{}',
      person_version: 1,
      person_distinct_id_version: 1,
      created_at,
      merged_into: '',
      is_identified: 0,
    },
  ];
  const [early, late] = ['2026-01-01T00:00:00.000000Z', '2026-02-01T00:00:00.000000Z'];
  for (const [ada, v1] of [
    [late, early],
    [early, late],
  ] as const) {
    const before = new Map([stored('ada', ada), stored('v1', v1)]);
    const batch = new PersonBatch(1, { persons: before, others: new Map() });
    const sent = {
      event: '$identify',
      distinct_id: 'ada',
      properties: { $anon_distinct_id: 'v1' },
    };
    batch.apply(parseEvent(JSON.stringify(sent), 0).event!);
    const leader = batch.versions().find(({ distinct_id }) => distinct_id === 'ada');
    assert.equal(leader?.created_at, early);
  }
});

test('the latest event can be taken back, whatever it did', () => {
  const visited = [1, 2, 3].map((a) => ({ event: 'e', distinct_id: `v${a}`, $set: { a } }));
  const pairs: Pair[] = [
    ['v2', 'v1'],
    ['v2', 'v3'],
  ];
  const asks = ['$identify', '$merge_dangerously'].map((event) => ({
    event,
    distinct_id: 'ada',
    properties: { $anon_distinct_id: 'v9', alias: 'v2', $set: { b: 1 } },
  }));
  for (const ask of asks) {
    const batch = new PersonBatch(1, { persons: new Map(), others: new Map() });
    const apply = (sent: object) => batch.apply(parseEvent(JSON.stringify(sent), 0).event!);
    const force = (distinct_id: string) =>
      apply({ event: '$merge_dangerously', distinct_id, properties: { alias: 'v2' } });
    for (const sent of visited) apply(sent);
    for (const [distinct_id, other] of pairs)
      apply({ event: '$identify', distinct_id, properties: { $anon_distinct_id: other } });
    const before = structuredClone(batch.versions());
    assert.equal(apply(ask).person_id === before[0]!.person_id, false);
    batch.undo();
    assert.deepEqual(batch.versions(), before);
    // Also who belongs to whom: all of them go on together.
    force('bob');
    const moved = batch.versions().filter(({ belongs_to }) => belongs_to === before[1]!.belongs_to);
    assert.deepEqual(moved, []);
  }
});
