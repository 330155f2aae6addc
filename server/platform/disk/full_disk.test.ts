import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeBytes, isDiskFull } from './full_disk.ts';

const fault = (message: string, facts: object = {}) => Object.assign(new Error(message), facts);

test('a disk without room is known by whoever says it', async () => {
  const written = fault('ENOSPC: no space left on device, write', { code: 'ENOSPC' });
  const full = [
    written,
    fault('could not extend file "base/1/2": wrote only 4096 of 8192 bytes', { code: '53100' }),
    fault('Cannot reserve 1.00 MiB, not enough space', { code: '243' }),
    fault('initdb failed', { stderr: 'could not write to file "x": No space left on device' }),
    fault('it could not be created', { cause: written }),
  ];
  for (const error of full) assert.equal(isDiskFull(error), true, error.message);
  for (const error of [fault('other', { code: 'EACCES' }), undefined, 'ENOSPC'])
    assert.equal(isDiskFull(error), false);
  assert.ok((await freeBytes(import.meta.dirname))! > 0);
  assert.equal(await freeBytes('/nowhere/at/all'), undefined);
});
