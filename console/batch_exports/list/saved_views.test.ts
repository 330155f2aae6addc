import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewsIn } from './saved_views.ts';

test('only what is a view is read from the browser', () => {
  const view = { name: 'Lake', search: { health: 'failing,late' } };
  for (const [text, views] of [
    [JSON.stringify([view]), [view]],
    ['[]', []],
    ['', []],
    ['{', []],
    ['null', []],
    ['{"name":"a"}', []],
    [JSON.stringify([view, null, 'a', { name: 1, search: {} }, { name: 'a' }]), [view]],
    [
      JSON.stringify([
        { name: 'a', search: { health: 3 } },
        { name: 'a', search: null },
      ]),
      [],
    ],
  ] as const)
    assert.deepEqual(viewsIn(text), views, text);
});
