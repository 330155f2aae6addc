import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isIllegalId } from './illegal_ids.ts';
import { judgeMerge, moved_ids_max } from './judge_merge.ts';
import type { MergeVerdict } from './judge_merge.ts';
import { readMergeAsk, readUnset } from './merge_ask.ts';

const words = (text: string) => text.split(' ');

test('ids that name nobody', () => {
  const illegal = [
    '',
    ' ',
    '\t\n',
    'x'.repeat(401),
    'a\0b',
    ...words(
      'anonymous Anonymous guest GUEST distinctid distinct_id id Email not_authenticated undefined',
    ),
    ...words(`UnDefined true FALSE NaN None none null 0 "anonymous" 'Guest' "null" '0'`),
    '$erased',
    '$posthog_cookieless',
    '[object Object]',
    '"[object Object]"',
    ...words('{} [] {"id":7} ["ada"] [1,2] [null]'),
    `{"a":"${'x'.repeat(195)}`,
    `[${'1,'.repeat(100)}`,
  ];
  const legal = [
    'ada',
    'nan',
    'NULL',
    '00',
    '1',
    'anonymous1',
    'ids',
    '""',
    '[object object]',
    '{3F2504E0-4F89}',
    '[7] Ada',
    '{a}',
  ];
  assert.deepEqual(
    illegal.filter((id) => !isIllegalId(id)),
    [],
  );
  assert.deepEqual([...legal, 'x'.repeat(400)].filter(isIllegalId), []);
});

const asks: [string, Record<string, unknown>, ReturnType<typeof readMergeAsk>][] = [
  ['$identify', { $anon_distinct_id: 'v1' }, { other: 'v1', is_forced: false }],
  ['$identify', { alias: 'v1' }, undefined],
  ['$identify', { $anon_distinct_id: 7 }, { other: '7', is_forced: false }],
  ['$identify', { $anon_distinct_id: null }, { other: 'null', is_forced: false }],
  ['$identify', { $anon_distinct_id: { a: 1 } }, { other: '{"a":1}', is_forced: false }],
  ['$create_alias', { alias: 'v1' }, { other: 'v1', is_forced: false }],
  ['$create_alias', { alias: '' }, { other: '', is_forced: false }],
  ['$create_alias', { $anon_distinct_id: 'v1' }, undefined],
  ['$merge_dangerously', { alias: 'v1' }, { other: 'v1', is_forced: true }],
  ['$merge_dangerously', { alias: 'x'.repeat(9e5) }, { other: 'x'.repeat(401), is_forced: true }],
  ['$groupidentify', { alias: 'v1', $anon_distinct_id: 'v1' }, undefined],
  ['$set', { alias: 'v1' }, undefined],
  ['toString', { alias: 'v1' }, undefined],
];
for (const [event, properties, ask] of asks)
  test(`${event} asks the right question with ${JSON.stringify(properties).slice(0, 40)}`, () =>
    assert.deepEqual(readMergeAsk(event, properties), ask));

test('$unset takes a list of names or an object with them', () => {
  assert.deepEqual(readUnset(['a', 1, null, 'b']), ['a', 'b']);
  assert.deepEqual(readUnset({ a: '', b: 1 }), ['a', 'b']);
  for (const none of [undefined, null, 'a', 7, [], {}, [7]])
    assert.equal(readUnset(none), undefined);
});

/** The people: `v*` are unknown, `ada` is identified and has `old`, `bob` is identified. */
const leaders: Record<string, string> = { old: 'ada' };
const identities = {
  leaderOf: (id: string) => leaders[id] ?? id,
  isIdentified: (leader: string) => ['ada', 'bob', 'crowd'].includes(leader),
  countOthers: (leader: string) => (leader === 'crowd' ? moved_ids_max : 0),
};
const merge = (from: string, into: string): MergeVerdict => ({
  kind: 'merge',
  from,
  into,
  identifies: true,
});
const refused = (reason: string, identifies: boolean) => ({ kind: 'refused', reason, identifies });
const nothing = (identifies: boolean) => ({ kind: 'nothing', identifies });

const verdicts: [says: string, into: string, other: string, object, forced?: object][] = [
  ['somebody unknown joins somebody unknown', 'v1', 'v2', merge('v2', 'v1')],
  ['somebody unknown joins an identified one', 'ada', 'v1', merge('v1', 'ada')],
  ['into whom the own id belongs', 'old', 'v1', merge('v1', 'ada')],
  ['oneself', 'v1', 'v1', nothing(false)],
  ['oneself, identified', 'ada', 'ada', nothing(false)],
  ['one person already', 'ada', 'old', nothing(true)],
  ['one person already, the other way', 'old', 'ada', nothing(true)],
  [
    'an identified one is not merged, but by force',
    'v1',
    'ada',
    refused('merge_of_identified', true),
    merge('ada', 'v1'),
  ],
  [
    'nor through an id that belongs to one',
    'bob',
    'old',
    refused('merge_of_identified', true),
    merge('ada', 'bob'),
  ],
  [
    'a crowd is never moved',
    'ada',
    'crowd',
    refused('merge_of_identified', true),
    refused('merge_of_too_many_ids', true),
  ],
  ['a crowd may grow', 'crowd', 'v1', merge('v1', 'crowd')],
  ['nobody', 'v1', 'guest', refused('merge_of_illegal_id', false)],
  ['into nobody', 'null', 'v1', refused('merge_of_illegal_id', false)],
  ['nobody into nobody', '0', '0', nothing(false)],
];
for (const [says, into, other, gently, forced = gently] of verdicts)
  test(`merging ${other} into ${into}: ${says}`, () => {
    assert.deepEqual(judgeMerge(into, { other, is_forced: false }, identities), gently);
    assert.deepEqual(judgeMerge(into, { other, is_forced: true }, identities), forced);
  });
