import { invalid } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { deleteLinks } from './links.ts';
import { findUserByEmail, updateUser } from '../users/store.ts';

/** Throws 400 when another account has the address, in any spelling. */
export async function refuseTaken(tx: Transaction, user_id: number, email: string): Promise<void> {
  const other = await findUserByEmail(tx, email);
  if (other !== undefined && other.id !== user_id) throw taken('email');
}

/**
 * Gives the account the address. Links that went to another address are void from then on: who
 * reads that mailbox must not be able to come back. Throws 400 for `attr` when another account has
 * the address, also when both take it at once.
 */
export async function changeEmail(
  tx: Transaction,
  user_id: number,
  email: string,
  is_email_verified: boolean,
  attr: string | null,
): Promise<void> {
  try {
    await updateUser(tx, user_id, { email, is_email_verified });
  } catch (error) {
    if (isDatabaseError(error) && error.constraint === 'users_email_unique') throw taken(attr);
    throw error;
  }
  await deleteLinks(tx, user_id);
}

function taken(attr: string | null): ApiError {
  return invalid(attr, 'unique', 'Another account has this address: choose another one.');
}
