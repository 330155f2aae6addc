import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';

/** Keeps a sealed seed that does not count yet. */
export async function setTotpSecret(
  tx: Transaction,
  user_id: number,
  sealed: Buffer,
): Promise<void> {
  await tx.run(
    sql`UPDATE users SET totp_secret = ${sealed}, totp_last_step = NULL, updated_at = now()
      WHERE id = ${user_id}`,
  );
}

/**
 * Makes the kept seed count from now on; the step whose code showed that the app has it is used.
 */
export async function confirmTotp(
  tx: Transaction,
  user_id: number,
  step: number,
  now: string,
): Promise<void> {
  await tx.run(
    sql`UPDATE users SET totp_confirmed_at = ${now}::timestamptz, totp_last_step = ${step},
      updated_at = now() WHERE id = ${user_id}`,
  );
}
