import sql from 'sql-template-tag';
import { conflict } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Identity } from '../users/store.ts';

/**
 * Returns whether the user, whom the caller has locked, keeps a second factor after removing the
 * app's codes or one passkey. Throws 409 with the organizations that enforce a second factor if
 * none is left, and 409 if no way to sign in is left.
 */
export async function refuseLastFactor(
  tx: Transaction,
  user: Identity,
  going: 'totp' | 'passkey',
): Promise<'others left' | 'none left'> {
  const has = await tx.row<{ passkeys: number; has_provider: boolean; enforcing: string[] }>(sql`
    SELECT (SELECT count(*) FROM passkeys WHERE user_id = ${user.id}) AS passkeys,
      EXISTS (SELECT 1 FROM social_identities WHERE user_id = ${user.id}) AS has_provider,
      ARRAY(SELECT o.name FROM members m JOIN organizations o ON o.id = m.organization_id
        WHERE m.user_id = ${user.id} AND o.enforce_2fa ORDER BY o.created_at, o.id) AS enforcing`);
  const { passkeys, has_provider, enforcing } = has!;
  const is_last_passkey = going === 'passkey' && passkeys === 1;
  if (is_last_passkey && user.password_hash === null && !has_provider)
    throw conflict(
      'This passkey is the only way into your account: choose a password, or add another ' +
        'passkey, first.',
    );
  const are_others_left = going === 'totp' ? passkeys > 0 : !is_last_passkey || user.has_totp;
  if (!are_others_left && enforcing.length > 0)
    throw conflict(
      `This is your last second factor, and ${enforcing.join(', ')} ` +
        `${enforcing.length === 1 ? 'asks' : 'ask'} for one: set another one up first, or leave.`,
    );
  return are_others_left ? 'others left' : 'none left';
}
