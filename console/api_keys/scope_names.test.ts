import assert from 'node:assert/strict';
import { test } from 'node:test';
import { service_scopes } from '../../server/api/service_keys/schema.ts';
import { service_scope_choices } from './scope_names.ts';

test('the form of a service key offers the scopes that the server grants', () => {
  assert.deepEqual(
    service_scope_choices.map(({ value }) => value).toSorted(),
    service_scopes.toSorted(),
  );
});
