import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryableError, withCertainty } from '../../model/destination/errors.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { isRefused, toldOf } from './settle_failure.ts';

test('an attempt that met the limit of open files says so, and any other hides its inside', () => {
  const out = Object.assign(new Error('connect EMFILE /inner/path'), { code: 'EMFILE' });
  const { code, message } = toldOf(new Error('it could not be read', { cause: out }));
  assert.equal(code, 'open_files_exhausted');
  assert.match(message, /limit of open files is reached\. Raise .* Sluice retries the run\.$/);
  assert.doesNotMatch(message, /inner/);
  assert.equal(toldOf(new Error('another')).code, 'internal');
});

test('a refusal is believed by the attempt that began to commit, and by no later one', async () => {
  const errorOf = (mayShow: boolean) => {
    const refused = new RetryableError('throttled', 'The server asks to slow down.');
    return withCertainty(
      () => Promise.reject(refused),
      () => mayShow,
    ).catch((error: unknown) => error);
  };
  const attempt = (committing_at: string | null) => ({ committing_at }) as ClaimedRun;
  const later = attempt('2026-01-01T00:00:00.000000Z');
  assert.equal(isRefused(attempt(null), await errorOf(false)), true);
  assert.equal(isRefused(attempt(null), await errorOf(true)), false);
  assert.equal(isRefused(later, await errorOf(false)), false);
  assert.equal(isRefused(attempt(null), new Error('another')), false);
});
