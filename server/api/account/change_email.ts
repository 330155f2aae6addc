import { invalid } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { deleteLinks } from './links.ts';
import { findUserByEmail, updateUser } from '../users/store.ts';

/** Throws 400 if another account has the address, in any spelling. */
export async function refuseTaken(tx: Transaction, user_id: number, email: string): Promise<void> {
  const other = await findUserByEmail(tx, email);
  if (other !== undefined && other.id !== user_id) throw taken('email');
}

/**
 * Sets the address of the account. Links mailed to another address become invalid, so that a reader
 * of the old mailbox cannot return. Throws 400 for `attr` if another account has the address, or
 * takes it at the same time.
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
