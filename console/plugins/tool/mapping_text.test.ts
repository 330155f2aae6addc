import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMappings, readValue, shownValue, withOwnName } from './mapping_text.ts';

const values: [string, unknown][] = [
  ['$.properties.price', { '@path': '$.properties.price' }],
  ['Hello {{properties.name}}', { '@template': 'Hello {{properties.name}}' }],
  ['#general', '#general'],
  ['3', 3],
  ['true', true],
  ['"3"', '3'],
  ['"$.a"', '$.a'],
  ['{"@if":{"exists":{"@path":"$.a"}}}', { '@if': { exists: { '@path': '$.a' } } }],
  ['{"@template":"{}"}', { '@template': '{}' }],
  ['["a"]', ['a']],
];

for (const [text, value] of values)
  test(`A value of a mapping: ${text}`, () => {
    assert.equal(shownValue(value), text);
    assert.deepEqual(readValue(text), value);
  });

test('A value of a mapping: an empty text is none', () => {
  assert.equal(readValue(' '), undefined);
  assert.equal(shownValue(undefined), '');
});

test('Mappings of a text: a list of objects, or nothing', () => {
  const mapping = { partnerAction: 'send', subscribe: 'type = "track"', mapping: {} };
  assert.deepEqual(readMappings(JSON.stringify([mapping])), [mapping]);
  for (const text of ['', '{', '{}', '[1]', '[{"partnerAction":"send"}]'])
    assert.equal(readMappings(text), undefined);
});

test('A mapping gets a name that the others do not have', () => {
  const one = { name: 'Track', partnerAction: 'send', subscribe: '', mapping: {} };
  assert.equal(withOwnName(one, []).name, 'Track');
  assert.equal(withOwnName(one, [one, { ...one, name: 'Track 2' }]).name, 'Track 3');
});
