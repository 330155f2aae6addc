import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { LakeRefused } from './refusal.ts';

/** Lifetime of a stored answer: 24 h. */
const kept_ms = 24 * 3_600_000;

/** A change that a client requests under an idempotency key. */
export type Keyed = { team_id: number; key: string; request_hash: Buffer };

/** The answer to a change: a text, or the current table for a repeat; neither if it has no body. */
export type Answered = { status: number; answer: string | null; table_id: string | null };

/**
 * Claims the key for this transaction, or returns the stored answer. A repeat waits until the first
 * request has ended. Throws 422 if the key was used for another request.
 */
export async function takeKey(tx: Transaction, keyed: Keyed): Promise<Answered | undefined> {
  const { team_id, key, request_hash } = keyed;
  const taken = await tx.run(sql`INSERT INTO lake_answers (team_id, key, request_hash, status)
    VALUES (${team_id}, ${key}::uuid, ${request_hash}, 0) ON CONFLICT (team_id, key) DO NOTHING`);
  if (taken > 0) return undefined;
  const found = await tx.row<Answered & { request_hash: Buffer }>(sql`
    SELECT request_hash, status, answer, table_id FROM lake_answers
    WHERE team_id = ${team_id} AND key = ${key}::uuid`);
  if (found !== undefined && !found.request_hash.equals(request_hash))
    throw new LakeRefused(
      'UnprocessableEntityException',
      'This Idempotency-Key was used for another request: use a new key.',
    );
  return found;
}

/** Stores the answer under the key that `takeKey` claimed, in the same transaction. */
export async function keepAnswer(
  tx: Transaction,
  { team_id, key }: Keyed,
  { status, answer, table_id }: Answered,
): Promise<void> {
  await tx.run(sql`UPDATE lake_answers SET status = ${status}, answer = ${answer},
    table_id = ${table_id}::uuid WHERE team_id = ${team_id} AND key = ${key}::uuid`);
}

/** Stores a final refusal under its key, after the transaction of the change was rolled back. */
export async function keepRefusal(
  db: Queryable,
  { team_id, key, request_hash }: Keyed,
  { status, answer }: Pick<Answered, 'status' | 'answer'>,
): Promise<void> {
  await db.run(sql`INSERT INTO lake_answers (team_id, key, request_hash, status, answer)
    VALUES (${team_id}, ${key}::uuid, ${request_hash}, ${status}, ${answer})
    ON CONFLICT (team_id, key) DO NOTHING`);
}

/** Removes answers older than 24 h. Uses the index by age. */
export async function sweepAnswers(db: Queryable, now_ms: number): Promise<void> {
  await db.run(sql`DELETE FROM lake_answers
    WHERE created_at < ${isoInstant(now_ms - kept_ms)}::timestamptz`);
}
