import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from './exact_json.ts';
import { readGroupFault } from './group_fault.ts';

const long = (character: string, length: number) => JSON.stringify(character.repeat(length));

test('a type or a key that cannot be used is told with what was sent', () => {
  const usable = [
    ['"company"', '"acme"'],
    ['"a b"', '"a:b"'],
    ['5', '17.0'],
    ['"company"', '12345678901234567890123'],
    [long('t', 100), long('😀', 300)],
  ];
  for (const [type, key] of usable) assert.equal(faultOf(type!, key!, '{}'), undefined, key);
  const unusable: [type: string, key: string, sent: RegExp][] = [
    ['""', '"acme"', /^\$group_type: ""$/],
    ['null', '"acme"', /^\$group_type: null$/],
    ['"a:b"', '"acme"', /^\$group_type: "a:b"$/],
    [long('t', 101), '"acme"', /^\$group_type: "t/],
    ['"company"', '""', /^\$group_key: ""$/],
    ['"company"', 'true', /^\$group_key: true$/],
    ['"company"', '["acme"]', /^\$group_key: \["acme"\]$/],
    ['"company"', '"a\\u0000b"', /^\$group_key: "a/],
    ['"company"', long('😀', 301), /^\$group_key: "😀/u],
    ['"company"', `1${'0'.repeat(300)}`, /^\$group_key: 10/],
  ];
  for (const [type, key, sent] of unusable) {
    const fault = faultOf(type, key, '{}');
    assert.equal(fault?.reason, 'group_ignored', key);
    assert.match(fault.sent, sent);
  }
  assert.equal(readGroupFault('$groupidentify', {})?.sent, '$group_type: missing');
  assert.equal(readGroupFault('visit', {}), undefined);
});

test('properties of a group that are no object are told', () => {
  const cases = ['null', '"plan"', '["plan"]', '1.0'];
  for (const set of cases)
    assert.deepEqual(faultOf('"company"', '"acme"', set), {
      reason: 'group_set_ignored',
      sent: `$group_set: ${set}`,
    });
});

function faultOf(type: string, key: string, set: string) {
  const text = `{"$group_type":${type},"$group_key":${key},"$group_set":${set}}`;
  return readGroupFault('$groupidentify', parseExact(text) as Record<string, unknown>);
}
