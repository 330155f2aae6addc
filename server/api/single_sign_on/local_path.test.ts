import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../test/depth.ts';
import { localPath } from './local_path.ts';

const cases: [string | undefined, string][] = [
  ['/', '/'],
  ['/a/b/?c=d&e=f#g', '/a/b/?c=d&e=f#g'],
  ['/a b/ä', '/a%20b/%C3%A4'],
  ['/a/../b', '/b'],
  ['/?next=//evil.example', '/?next=//evil.example'],
  [undefined, '/'],
  ['', '/'],
  ['a', '/'],
  ['https://evil.example/', '/'],
  ['javascript:alert(1)', '/'],
  ['//evil.example/', '/'],
  ['///evil.example/', '/'],
  ['/\\evil.example/', '/'],
  ['/\t/evil.example/', '/'],
  ['/\n/evil.example/', '/'],
  ['/.//evil.example/', '/'],
  ['/a/..//evil.example/', '/'],
  ['/%2e//evil.example/', '/'],
  ['/./\\evil.example/', '/'],
  [' //evil.example/', '/'],
  ['//own.invalid/a', '/a'],
  [`/${'a'.repeat(2_000)}`, '/'],
];
for (const [given, wanted] of cases) {
  test(`${String(given).slice(0, 40)} leads to ${wanted.slice(0, 40)}`, () =>
    assert.equal(localPath(given), wanted));
}

test('every redirect stays on this server', () => {
  const text = fc.string({
    unit: fc.constantFrom(
      '/',
      '\\',
      '.',
      ':',
      '@',
      '?',
      '#',
      '%',
      '2',
      'f',
      'e',
      'x',
      '\t',
      '\n',
      '\r',
      ' ',
      '\0',
    ),
  });
  fc.assert(
    fc.property(fc.oneof(text, fc.string()), (given) => {
      const path = localPath(`/${given}`);
      assert.match(path, /^\/(?!\/)[\u0021-\u007e]*$/);
      assert.equal(new URL(path, 'https://sluice.example').origin, 'https://sluice.example');
    }),
    { numRuns: inDepth(400, 20_000) },
  );
});
