import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countProcessorTime } from '../../../test/processor_time.ts';
import { parseEvent } from './parse/parse.ts';
import { person_bytes_max } from './parse/person_size.ts';
import type { Person } from './persons/person.ts';
import { buildRows } from './rows.ts';

function event(fields: Record<string, unknown>) {
  const read = parseEvent(JSON.stringify({ event: 'e', distinct_id: 'd', ...fields }), 0);
  assert.ok(read.event);
  return read.event;
}

const person = (properties: string): Person => ({
  person_id: 'p',
  properties,
  person_version: 3,
  person_distinct_id_version: 1,
  created_at: '2024-01-01 00:00:00.000000',
  merged_into: '',
  is_identified: 0,
});
const reasonsOf = (warnings: { reason: string }[]) => warnings.map(({ reason }) => reason);
const loaded = (before: [string, Person][]) => ({ persons: new Map(before), others: new Map() });
const build = (
  events: Record<string, unknown>[],
  before: [string, Person][] = [],
  bytes_max = 1e9,
) => buildRows(1, events.map(event), loaded(before), bytes_max);

test('a $set that makes a person too large is dropped, the event is not', async () => {
  const half = 'ä'.repeat(person_bytes_max / 4);
  const { events, persons, warnings } = await build([
    { $set: { a: half } },
    { $set: { b: half } },
    { $set: { c: 1 } },
    { $set_once: { b: half } },
  ]);
  assert.deepEqual(reasonsOf(warnings), Array(2).fill('person_too_large'));
  assert.deepEqual(
    persons.map((row) => [row.properties, row.person_version, row.created_at]),
    [[`{"a":"${half}","c":1}`, 1, undefined]],
  );
  assert.deepEqual(
    events.map((row) => Object.keys(JSON.parse(row.person_properties))),
    [['a'], ['a'], ['a', 'c'], ['a', 'c']],
  );
  assert.equal(JSON.parse(events[1]!.properties!).$set.b, half);
});

test('values that are there already, in any spelling of $set, create no version', async () => {
  const before: [string, Person][] = [['d', person('{"a":{"x":[1]},"n":12345678901234567890}')]];
  const same = parseEvent(
    '{"event":"e","distinct_id":"d","$set":{"a":{"x":[1]},"n":12345678901234567890},"$set_once":{"a":2}}',
    0,
  );
  assert.deepEqual((await buildRows(1, [same.event!], loaded(before), 1e9)).persons, []);
  assert.deepEqual(
    (await build([{ $set: { a: 1 } }, { $set: { a: 2 } }], before)).persons.map((row) => [
      row.properties,
      row.person_version,
    ]),
    [['{"a":2,"n":12345678901234567890}', 4]],
  );
});

test('rows are bounded by their size; a dropped first row changes no person', async () => {
  const before: [string, Person][] = [['d', person(`{"a":"${'ä'.repeat(40_000)}"}`)]];
  const sent = Array.from({ length: 10 }, (_none, index) => ({ $set: { index } }));
  const { events, persons } = await build(sent, before, 250_000);
  assert.deepEqual([events.length, JSON.parse(persons[0]!.properties).index], [3, 2]);
  assert.equal((await build(sent, before, 1)).events.length, 1);
  const other = await build(
    [{}, { distinct_id: 'other', $set: { a: 'x'.repeat(1_000) } }],
    [],
    1_000,
  );
  assert.deepEqual([other.events.length, other.persons], [1, []]);
});

test('many events of one large person take time that grows with their rows only', async () => {
  const before: [string, Person][] = [
    [
      'd',
      person(
        JSON.stringify(
          Object.fromEntries(
            Array.from({ length: 30_000 }, (_none, index) => [`key${index}`, index]),
          ),
        ),
      ),
    ],
  ];
  const sent = Array.from({ length: 2_000 }, () => ({ $set: { key1: 1 } }));
  const events = sent.map(event);
  const worked_ms = countProcessorTime();
  assert.equal((await buildRows(1, events, loaded(before), 1e12)).events.length, 2_000);
  assert.ok(worked_ms() < 1_000);
});

test('a person holds at most 10,000 names and values, and stays unchanged beyond', async () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_none, index) => [`k${index}`, 1]));
  const { events, persons, warnings } = await build([
    { $set: keys(9_000) },
    { $set: { nested: keys(2_000) } },
    { $set: { ok: 1 } },
    { $set: keys(20_000) },
    { $set_once: { deep: [[keys(20_000)]] } },
  ]);
  assert.deepEqual(reasonsOf(warnings), Array(3).fill('person_too_large'));
  assert.equal(Object.keys(JSON.parse(persons[0]!.properties)).length, 9_001);
  assert.equal(Object.keys(JSON.parse(events[3]!.properties!).$set).length, 20_000);
});
