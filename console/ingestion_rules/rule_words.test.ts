import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  constantOf,
  eventWords,
  eventsBySource,
  linesOf,
  movedUp,
  ruleWords,
  typedConstant,
} from './rule_words.ts';

const rule = {
  action: 'set_property',
  property: 'env',
  target: 'event',
  new_name: null,
  value: 'prod',
  only_if_missing: true,
} as const;

test('a rule is told in a sentence', () => {
  assert.equal(ruleWords(rule), 'Set `env` of the event to `"prod"` if missing');
  assert.equal(
    ruleWords({ ...rule, action: 'rename_property', target: 'any', new_name: 'stage' }),
    'Rename `env` to `stage`',
  );
  assert.equal(ruleWords({ ...rule, action: 'drop_event' }), 'Drop the event');
  assert.deepEqual(
    [[], ['a'], ['a', 'b*', 'c']].map((events) => eventWords(events)),
    ['All events', 'a', 'a and 2 more'],
  );
});

test('a constant is typed as it is meant, and shown as it is typed', () => {
  const cases: [string, unknown][] = [
    ['12', 12],
    ['"12"', '12'],
    ['true', true],
    ['prod', 'prod'],
    ['{"a":1}', '{"a":1}'],
    ['null', 'null'],
  ];
  for (const [text, value] of cases) {
    assert.equal(constantOf(text), value);
    assert.equal(constantOf(typedConstant(constantOf(text))), value);
  }
  assert.equal(typedConstant('"quoted"'), '"\\"quoted\\""');
});

test('lines, order and counts', () => {
  assert.deepEqual(linesOf(' a \n\nb*'), ['a', 'b*']);
  assert.deepEqual(movedUp(['a', 'b', 'c'], 2), ['a', 'c', 'b']);
  const counts = eventsBySource([
    { source: 'a', events: 2 },
    { source: 'a', events: 3 },
  ]);
  assert.equal(counts.get('a'), 5);
});
