import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSecrets } from '../secrets/secrets.ts';
import { hashOf } from './chain.ts';
import type { StoredEntry } from './chain.ts';

const secrets = openSecrets('a secret that only tests have, 32 or more');
const at = (created_at: string) =>
  hashOf(
    secrets,
    { id: 'a', number: 1, created_at, previous_hash: Buffer.alloc(32) } as StoredEntry,
    Buffer.alloc(32),
  ).toString('hex');

test('an entry from before instants had six digits is still what it says', () => {
  for (const [six, short] of [
    ['2026-01-02T03:04:10.123456Z', '2026-01-02T03:04:10.123456Z'],
    ['2026-01-02T03:04:10.123400Z', '2026-01-02T03:04:10.1234Z'],
    ['2026-01-02T03:04:10.000000Z', '2026-01-02T03:04:10Z'],
  ]) {
    const stored = { id: 'a', number: 1, created_at: short, previous_hash: Buffer.alloc(32) };
    // As it was hashed then: the fields in their order, with the instant as PostgreSQL spelled it.
    const said: unknown[] = Array.from({ length: 17 }, () => null);
    [said[0], said[2]] = [stored.id, stored.number];
    const zero = Buffer.alloc(32).toString('hex');
    const text = JSON.stringify([...said, short, zero, zero]);
    assert.equal(at(six!), secrets.chain(text).toString('hex'));
  }
  assert.notEqual(at('2026-01-02T03:04:10.100000Z'), at('2026-01-02T03:04:10.010000Z'));
});
