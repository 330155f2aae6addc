import assert from 'node:assert/strict';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UserError } from '../user_error.ts';
import { refuseForeign } from './stores.ts';

test('the PostgreSQL of another user is refused, with whose it is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-foreign-'));
  const uid = process.getuid!();
  try {
    refuseForeign(folder);
    refuseForeign(join(folder, 'none yet'), uid + 1);
    assert.throws(
      () => refuseForeign(folder, uid + 1),
      (error: Error) =>
        error instanceof UserError && error.message.includes(`belongs to the user ${uid}, `),
    );
  } finally {
    rmdirSync(folder);
  }
});
