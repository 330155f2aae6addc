import { randomInt } from 'node:crypto';
import sql from 'sql-template-tag';
import {
  hashPassword,
  isNobodysPassword,
  isPassword,
} from '../../../platform/passwords/password.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

const codes = 10;
const group_length = 5;
// Base 32 (RFC 4648) without 0, 1 and 8, which look like letters.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * Gives the user ten new recovery codes (`ABCDE-FGHIJ`, 50 random bits each) in place of the old
 * ones. Only their argon2id is stored, so they can be shown only now. Takes about a tenth of a
 * second.
 */
export async function replaceRecoveryCodes(
  tx: Transaction,
  secrets: Secrets,
  user_id: number,
): Promise<string[]> {
  const created = new Map<number, { shown: string; mac: Buffer }>();
  while (created.size < codes) {
    const groups = [randomGroup(), randomGroup()];
    const mac = recoveryCodeMac(secrets, user_id, groups.join(''));
    // All codes differ in the byte by which a code is found.
    if (!created.has(mac[0]!)) created.set(mac[0]!, { shown: groups.join('-'), mac });
  }
  const all = [...created.values()];
  const hashes = await Promise.all(all.map(({ mac }) => hashPassword(mac.toString('hex'))));
  await tx.run(sql`DELETE FROM recovery_codes WHERE user_id = ${user_id}`);
  await tx.run(
    sql`INSERT INTO recovery_codes (user_id, code_hash, argon2id)
      SELECT ${user_id}, * FROM unnest(${all.map(({ mac }) => mac.subarray(0, 1))}::bytea[],
        ${hashes}::text[])`,
  );
  return all.map(({ shown }) => shown);
}

/**
 * Uses up a recovery code, given without its hyphen. Returns false if the user has no such code or
 * it was used before; the row's lock lets one of several succeed. A try computes one argon2id,
 * whether the code exists or not. Codes from before argon2id need none.
 */
export async function useRecoveryCode(
  tx: Transaction,
  secrets: Secrets,
  user_id: number,
  code: string,
  now: string,
): Promise<boolean> {
  const mac = recoveryCodeMac(secrets, user_id, code);
  const rows = await tx.rows<{ code_hash: Buffer; argon2id: string | null }>(
    sql`SELECT code_hash, argon2id FROM recovery_codes WHERE user_id = ${user_id}
      AND code_hash = ANY (${[mac, mac.subarray(0, 1)]}::bytea[]) AND used_at IS NULL`,
  );
  const hashed = rows.find(({ argon2id }) => argon2id !== null);
  const isHashed =
    hashed === undefined
      ? await isNobodysPassword(code)
      : await isPassword(mac.toString('hex'), hashed.argon2id!);
  const found = isHashed ? hashed : rows.find(({ code_hash }) => code_hash.equals(mac));
  if (found === undefined) return false;
  const used = await tx.run(
    sql`UPDATE recovery_codes SET used_at = ${now}::timestamptz WHERE user_id = ${user_id}
      AND code_hash = ${found.code_hash} AND used_at IS NULL`,
  );
  return used === 1;
}

/**
 * Returns the stored form of a recovery code: without the server's key nobody can try codes, and
 * with it each try takes an argon2id.
 */
function recoveryCodeMac(secrets: Secrets, user_id: number, code: string): Buffer {
  return secrets.hash(`recovery code ${user_id} ${code}`);
}

function randomGroup(): string {
  return Array.from({ length: group_length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
