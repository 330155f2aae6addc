import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';

/** Stores a sealed seed that is not yet active. */
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

/** Activates the stored seed; the time step of the confirming code counts as used. */
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
