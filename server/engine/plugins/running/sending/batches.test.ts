import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchesOf, outcomesOfBatch } from '../../sandbox/tool_child/batch.ts';
import type { Seen } from '../../sandbox/tool_child/way_out.ts';
import { batchingOf } from './batching.ts';
import { openLanes } from './lanes.ts';
import type { Item, Lane } from './lanes.ts';
import { openPersons } from './persons.ts';

const seen: Seen = {
  instance: 1,
  has_asked: true,
  status: 200,
  retry_after: '7',
  text: '',
  refusal: undefined,
  exchanges: [],
  known: undefined,
  read: { whole: undefined, single: undefined, members: [] },
};
const batchOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    at,
    event: {},
    fields: { email: `${at}@acme.com` },
  }));
const mapping = (fields: Record<string, unknown>) => ({
  partnerAction: 'send',
  subscribe: 'type = "track"',
  mapping: fields,
});

test('A mapping has batches if its field says so, by default as the action says', () => {
  const withSwitch = { send: { fields: { enable_batching: { default: true } } } };
  const divided = { is_in_order: false, whole_tries: 0 };
  const all = { ...divided, size: 1_000, bytes: 4_000_000, keys: [] };
  assert.deepEqual(batchingOf({ actions: withSwitch }, mapping({})), all);
  assert.equal(batchingOf({ actions: withSwitch }, mapping({ enable_batching: false })), undefined);
  const bounds = {
    send: { fields: { batch_size: { default: 0 }, batch_keys: { default: ['url'] } } },
  };
  assert.equal(batchingOf({ actions: bounds }, mapping({})), undefined);
  assert.deepEqual(batchingOf({ actions: bounds }, mapping({ batch_size: 10, batch_bytes: 99 })), {
    ...divided,
    size: 10,
    bytes: 99,
    keys: ['url'],
  });
});

test('A batch has events of one key, and stays within its bounds', () => {
  const members = ['a', 'b', 'a', 'a', 'b', 'a'].map((url, at) => ({
    at,
    event: {},
    fields: { url },
  }));
  const places = (bounds: { size: number; bytes: number; keys: string[] }) =>
    batchesOf(members, bounds).map((batch) => batch.map(({ at }) => at));
  assert.deepEqual(places({ size: 3, bytes: 1_000, keys: ['url'] }), [[0, 2, 3], [5], [1, 4]]);
  assert.deepEqual(places({ size: 9, bytes: 25, keys: [] }), [
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
});

test('Each event of a batch has its own outcome, and one for all says so', () => {
  const multistatus = [
    { status: 200 },
    { status: 429, errormessage: 'slow' },
    { status: 400, errormessage: 'bad' },
  ];
  const kinds = outcomesOfBatch([{ multistatus }], batchOf(3), seen);
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['sent', 'retry', 'refused'],
  );
  // The answer for one event has no header of its own.
  assert.equal('reason' in kinds[1]! && kinds[1].retry_after, '7');
  const refused = Array.from({ length: 3 }, () => ({ status: 400, errormessage: 'bad' }));
  const [one] = outcomesOfBatch([{ multistatus: refused }], batchOf(3), seen);
  assert.deepEqual('reason' in one! && [one.kind, one.together], ['refused', 3]);
  assert.deepEqual(
    outcomesOfBatch(undefined, batchOf(2), seen).map(({ kind }) => kind),
    ['retry', 'retry'],
  );
});

test('Refused events that the vendor names are found among those that the library sent', () => {
  const multistatus = [{ status: 200 }, { status: 400, errormessage: 'bad' }, { status: 200 }];
  const kindsWith = (members: Seen['read']['members']) =>
    outcomesOfBatch([{ multistatus }], batchOf(3), {
      ...seen,
      read: { ...seen.read, members },
    }).map((one) => ('reason' in one ? one.reason : one.kind));
  // The library left the second event out, so the vendor's second one is the third.
  assert.deepEqual(kindsWith([{ at: 1, status: 400, reason: 'no' }]), ['sent', 'bad', 'no']);
  const byEmail = { field: 'email', value: '0@acme.com', status: 400, reason: 'no' };
  assert.deepEqual(kindsWith([byEmail]), ['no', 'bad', 'sent']);
  assert.deepEqual(kindsWith([{ at: 7, status: 400, reason: 'no' }]), ['sent', 'bad', 'sent']);
});

test('Lanes go out together as far as each of them allows, and the next mapping is next', () => {
  const lane = (name: string, together_max: number): Lane => ({
    mapping: name,
    items: [{ together_max } as Item],
  });
  const lanes = openLanes([
    lane('one', 3),
    lane('one', 3),
    lane('one', 1),
    lane('two', 1),
    lane('one', 3),
  ]);
  const taken = [];
  for (let next = lanes.take(); next !== undefined; next = lanes.take())
    taken.push(next.map(({ lane: { mapping }, item }) => `${mapping} ${item.together_max}`).join());
  assert.deepEqual(taken, ['one 3,one 3', 'two 1', 'one 1', 'one 3']);
  assert.ok(lanes.isEmpty());
});

test('Events that share either id are of one person', () => {
  const persons = openPersons();
  for (const [distinct_id, person_id] of [
    ['anonymous', '1'],
    ['ada', '1'],
    ['ada', '2'],
    ['bob', '3'],
  ] as const)
    persons.join({ distinct_id, person_id });
  const of = (distinct_id: string) => persons.of({ distinct_id, person_id: '' });
  assert.equal(of('anonymous'), of('ada'));
  assert.notEqual(of('ada'), of('bob'));
});
