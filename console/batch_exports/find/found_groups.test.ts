import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf, isUuid } from './found_groups.ts';

test('groups that need a look come first, and many healthy ones are folded', () => {
  const many = Array.from({ length: 45 }, () => ({ state: 'delivered' as const }));
  const failed = Array.from({ length: 4 }, () => ({ state: 'failed' as const }));
  const found = [many[0]!, { state: 'waiting' as const }, ...many.slice(1), ...failed];
  assert.deepEqual(
    groupsOf(found).map(({ state, exports, is_folded }) => [state, exports.length, is_folded]),
    [
      ['failed', 4, false],
      ['delivered', 45, true],
      ['waiting', 1, false],
    ],
  );
  assert.equal(groupsOf(many.slice(0, 3))[0]!.is_folded, false);
  assert.deepEqual(groupsOf([]), []);
});

test('the search tells a uuid from another text', () => {
  for (const text of [
    '01a21a7a-dc3e-755f-8979-d04bfd3121e1',
    ' 01A21A7A-DC3E-755F-8979-D04BFD3121E1',
  ])
    assert.ok(isUuid(text), text);
  for (const text of ['hello', '', '01a21a7adc3e755f8979d04bfd3121e1', '01a21a7a-dc3e-755f-8979'])
    assert.ok(!isUuid(text), text);
});
