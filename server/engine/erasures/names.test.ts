import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNames } from './names.ts';

test('a name is found anywhere in a text, as it is and within JSON', () => {
  const isNamed = openNames(['ada@x.org', 'ada@x', 'grace "the\\fast"', 'bob', '語語語語']);
  for (const text of ['ada@x', 'of ada@x.org.', '{"id":"grace \\"the\\\\fast\\""}', 'a語語語語'])
    assert.ok(isNamed(text), text);
  for (const text of ['', 'ada', 'ada@', 'ADA@X.ORG', 'grace "the', 'of bob', '語語語'])
    assert.ok(!isNamed(text), text);
});
