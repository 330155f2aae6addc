import { isExpired } from '../../platform/http/caller/key_rules.ts';
import { conflict } from '../../platform/http/errors.ts';
import type { Deps } from '../../deps.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseTooMany } from './rules.ts';
import type { ApiKeyRow } from './schema.ts';
import type { Owner } from './store.ts';
import { countLiveApiKeys, findApiKey, insertApiKey, isRolled, markRolled } from './store.ts';

/**
 * Creates the successor of a key with the same fields, and ends the old key after the overlap, or
 * at its own end if that is earlier. Returns both records and the successor's value, which is never
 * shown again. The caller holds the lock on the person. Throws 409 for a key that has expired or
 * has a successor, and 400 if the person has too many keys.
 */
export async function rollApiKey(
  tx: Transaction,
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  owner: Owner,
  key: ApiKeyRow,
  overlap_seconds: number,
): Promise<{ after: ApiKeyRow; created: ApiKeyRow; value: string }> {
  const now_ms = clock.now();
  const { user_id } = owner;
  if (isExpired(key, now_ms))
    throw conflict('This key has expired, so there is nothing to replace: create a new key.');
  if (await isRolled(tx, key.id))
    throw conflict(
      'This key was rotated and has a successor: rotate the successor, or create a new key.',
    );
  await markRolled(tx, key.id, now_ms, overlap_seconds);
  const after = await findApiKey(tx, owner, key.id);
  refuseTooMany(await countLiveApiKeys(tx, user_id, now_ms));
  const { value, ...created } = await insertApiKey(tx, secrets, { ...key, user_id });
  return { after: after!, created, value };
}
