import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toldOf } from './settle_failure.ts';

test('an attempt that met the limit of open files says so, and any other hides its inside', () => {
  const out = Object.assign(new Error('connect EMFILE /inner/path'), { code: 'EMFILE' });
  const { code, message } = toldOf(new Error('it could not be read', { cause: out }));
  assert.equal(code, 'open_files_exhausted');
  assert.match(message, /limit of open files is reached\. Raise .* The run is tried again\.$/);
  assert.doesNotMatch(message, /inner/);
  assert.equal(toldOf(new Error('another')).code, 'internal');
});
