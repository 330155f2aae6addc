import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tablesBehindDot } from './behind_dot.ts';

test('behind a dot come the columns of the table, and nothing behind a column', () => {
  const tables = [
    { name: 'events', columns: [{ name: 'uuid' }, { name: 'properties' }] },
    { name: 'persons', columns: [{ name: 'properties' }] },
  ];
  for (const [text, names] of [
    ['SELECT ', undefined],
    ['SELECT uu', undefined],
    ['SELECT properties.', []],
    ['SELECT e.properties.pl', []],
    ['SELECT events.', ['events']],
    ['SELECT e.uu', ['events', 'persons']],
  ] as const)
    assert.deepEqual(
      tablesBehindDot(text, tables)?.map(({ name }) => name),
      names,
      text,
    );
});
