import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localPath } from './local_path.ts';

test('only a path of this server is gone to', () => {
  const cases: [string | undefined, string][] = [
    ['/projects/1/exports?page=2#x', '/projects/1/exports?page=2#x'],
    ['/account', '/account'],
    [undefined, '/'],
    ['', '/'],
    ['account', '/'],
    ['https://evil.example/', '/'],
    ['//evil.example/', '/'],
    ['/\\evil.example/', '/'],
    ['/\t/evil.example/', '/'],
    ['/./\\evil.example', '/'],
    ['javascript:alert(1)', '/'],
  ];
  for (const [next, path] of cases) assert.equal(localPath(next), path, String(next));
});
