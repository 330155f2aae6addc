import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draftOf } from './draft.ts';
import { lostAfter, withoutSecrets } from './lost_secrets.ts';

test('the names of typed secrets are kept until the secrets are typed again', () => {
  const typed = { host: 'h', password: 'pw', token: '', key: null };
  const typing = { draft: { ...draftOf(undefined, 'UTC'), typed }, lost: ['headers'] };
  const kept = withoutSecrets(typing, ['password', 'token', 'key', 'headers']);
  assert.deepEqual(kept.draft.typed, { host: 'h', key: null });
  assert.deepEqual(kept.lost, ['headers', 'password']);
  assert.doesNotMatch(JSON.stringify(kept), /pw/);
  assert.deepEqual(lostAfter(kept, { name: 'n' }), ['headers', 'password']);
  assert.deepEqual(lostAfter(kept, { typed: { password: 'p' } }), ['headers']);
  assert.deepEqual(lostAfter(kept, { typed: { password: null } }), ['headers']);
  assert.deepEqual(lostAfter(kept, { type: '', typed: { password: 'p' } }), ['headers']);
  assert.deepEqual(lostAfter(kept, { type: 'S3', typed: {} }), []);
});
