import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchThread } from '../../../../test/processor_time.ts';
import { openNames } from './names.ts';

test('a name is found anywhere in a text, plain and within JSON', async () => {
  const isNamed = openNames(['ada@x.org', 'ada@x', 'grace "the\\fast"', 'bob', '語語語語']);
  for (const text of ['ada@x', 'of ada@x.org.', '{"id":"grace \\"the\\\\fast\\""}', 'a語語語語'])
    assert.ok(await isNamed(text), text);
  for (const text of ['', 'ada', 'ada@', 'ADA@X.ORG', 'grace "the', 'of bob', '語語語'])
    assert.ok(!(await isNamed(text)), text);
});

test('others have their turns while a text is gone through', async () => {
  const ids = Array.from({ length: 196 }, (_unused, index) => `${'a'.repeat(index + 4)}b`);
  const isNamed = openNames(ids);
  const watched = watchThread();
  assert.ok(!(await isNamed('a'.repeat(12_000))));
  const { turn_ms } = watched();
  assert.ok(turn_ms < 200, `A turn of the event loop took ${turn_ms} ms of processor.`);
});
