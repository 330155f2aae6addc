import { randomInt } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { recoveryCodeHash } from './store.ts';

const codes = 10;
const group_length = 5;
// Base 32 (RFC 4648): no 0, 1 and 8, which are taken for letters.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * Gives the user ten fresh recovery codes (`ABCDE-FGHIJ`, 50 random bits each) in place of those
 * before. Only their HMAC is kept: this is the one time that they can be shown.
 */
export async function replaceRecoveryCodes(
  tx: Transaction,
  secrets: Secrets,
  user_id: number,
): Promise<string[]> {
  const created = Array.from({ length: codes }, () => [randomGroup(), randomGroup()] as const);
  const hashes = created.map((groups) => recoveryCodeHash(secrets, user_id, groups.join('')));
  await tx.run(sql`DELETE FROM recovery_codes WHERE user_id = ${user_id}`);
  await tx.run(
    sql`INSERT INTO recovery_codes (user_id, code_hash)
      SELECT ${user_id},
      unnest(${hashes}::bytea[])`,
  );
  return created.map((groups) => groups.join('-'));
}

function randomGroup(): string {
  return Array.from({ length: group_length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
