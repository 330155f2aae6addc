import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../postgres/database.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Change } from './changes.ts';

/** The actor of a change. All fields are null for the server itself. */
export type Actor = {
  user_id: number | null;
  user_uuid: string | null;
  user_email: string | null;
  key_id: string | null;
  key_mask: string | null;
  session_id: string | null;
  ip: string | null;
  request_id: string | null;
};

/**
 * One change: `activity` is the past tense of the action, `scope` the noun of the thing, `item_id`
 * and `item_name` identify it.
 */
export type Activity = {
  activity: string;
  scope: string;
  item_id: string;
  item_name: string | null;
  changes: Change[];
};

/** The chain of an entry: an organization's, or a person's for their own matters. */
export type Chain = { organization_id: string } | { user_uuid: string };

/** The actor of the server's own actions. */
export const server_actor: Actor = {
  user_id: null,
  user_uuid: null,
  user_email: null,
  key_id: null,
  key_mask: null,
  session_id: null,
  ip: null,
  request_id: null,
};

/** An entry as it is stored. `changes` is the JSON text that was hashed. */
export type StoredEntry = Actor &
  Omit<Activity, 'changes'> & {
    id: string;
    chain_id: string;
    number: number;
    organization_id: string | null;
    changes: string;
    created_at: string;
    previous_hash: Buffer;
    hash: Buffer;
  };

/** The end of a chain: the number and hash of its last entry. */
export type ChainEnd = Pick<StoredEntry, 'chain_id' | 'number' | 'hash'>;

/** The previous hash that the first entry of a chain names. */
export const genesis_hash = Buffer.alloc(32);

/** The position of the next entry of a chain, which this transaction holds until it ends. */
export type NextPlace = {
  number: number;
  previous_hash: Buffer;
  previous_seal: Buffer;
  created_at: string;
};

/**
 * Locks the end of a chain for the transaction and returns the position after it. Call it last, or
 * together with the last statement before the entry.
 */
export async function lockChain(
  tx: Transaction,
  secrets: Secrets,
  chain: Chain,
): Promise<NextPlace> {
  const chain_id = idOf(chain);
  // The row lock of the head is the lock of the chain.
  const locking = sql`
    SELECT number + 1 AS number, hash AS previous_hash, seal AS previous_seal,
      clock_timestamp() AS created_at
    FROM activity_heads WHERE chain_id = ${chain_id}::uuid FOR NO KEY UPDATE`;
  const head = await tx.row<NextPlace>(locking);
  if (head !== undefined) return head;
  const empty = sealOf(secrets, { chain_id, number: 0, hash: genesis_hash });
  await tx.run(sql`
    INSERT INTO activity_heads (chain_id, number, hash, seal)
      VALUES (${chain_id}::uuid, 0, ${genesis_hash}, ${empty})
    ON CONFLICT (chain_id) DO NOTHING`);
  return (await tx.row<NextPlace>(locking))!;
}

function idOf(chain: Chain): string {
  return 'organization_id' in chain ? chain.organization_id : chain.user_uuid;
}

/** Appends one entry to its chain, like `appendActivities`. */
export function appendActivity(
  tx: Transaction,
  secrets: Secrets,
  chain: Chain,
  actor: Actor,
  activity: Activity,
  place?: Promise<NextPlace>,
): Promise<void> {
  return appendActivities(tx, secrets, chain, actor, [activity], place);
}

/**
 * Appends entries of one actor to their chain, in order and in one statement, in the transaction of
 * the change. One change of a group can change the level of thousands of people. Guarantee: numbers
 * have no gaps and follow the order of commits, because the chain's head is locked until the
 * transaction ends. So call this last in a transaction. `asked` is the result of an earlier
 * `lockChain`.
 */
export async function appendActivities(
  tx: Transaction,
  secrets: Secrets,
  chain: Chain,
  actor: Actor,
  activities: readonly Activity[],
  asked: Promise<NextPlace> = lockChain(tx, secrets, chain),
): Promise<void> {
  const chain_id = idOf(chain);
  const place = await asked;
  const organization_id = 'organization_id' in chain ? chain.organization_id : null;
  let [last, seal] = [place.previous_hash, place.previous_seal];
  const rows = activities.map(({ changes, ...activity }, index) => {
    const common = { ...actor, ...activity, chain_id, organization_id };
    const { created_at, number: first } = place;
    const said = { changes: JSON.stringify(changes), created_at, previous_hash: last };
    const row = { ...common, ...said, id: uuidv7(), number: first + index };
    // Hashes the stored seal: a manipulated head invalidates every later entry.
    last = hashOf(secrets, row, seal);
    seal = sealOf(secrets, { chain_id, number: row.number, hash: last });
    return { ...row, hash: last };
  });
  const all = <Name extends keyof StoredEntry>(name: Name) => rows.map((row) => row[name]);
  tx.lastly(sql`
    WITH entries AS (
      INSERT INTO activity (id, chain_id, number, organization_id, activity, scope, item_id,
        item_name, changes, user_id, user_uuid, user_email, key_id, key_mask,
        session_id, ip, request_id, created_at, previous_hash, hash)
      SELECT entry.id, ${chain_id}::uuid, entry.number, ${organization_id}::uuid, entry.activity,
        entry.scope, entry.item_id, entry.item_name, entry.changes::json, ${actor.user_id}::integer,
        ${actor.user_uuid}::uuid, ${actor.user_email}, ${actor.key_id}::uuid, ${actor.key_mask},
        ${actor.session_id}::uuid, ${actor.ip}, ${actor.request_id},
        ${place.created_at}::timestamptz, entry.previous_hash, entry.hash
      FROM unnest(${all('id')}::uuid[], ${all('number')}::bigint[], ${all('activity')}::text[],
        ${all('scope')}::text[], ${all('item_id')}::text[], ${all('item_name')}::text[],
        ${all('changes')}::text[], ${all('previous_hash')}::bytea[], ${all('hash')}::bytea[])
        AS entry (id, number, activity, scope, item_id, item_name, changes, previous_hash, hash))
    UPDATE activity_heads SET number = ${place.number + rows.length - 1}, hash = ${last},
      seal = ${seal}
    WHERE chain_id = ${chain_id}::uuid`);
}

/** Returns the HMAC of an entry's fields and of the seal of the head that it was appended to. */
export function hashOf(
  secrets: Secrets,
  row: Omit<StoredEntry, 'hash'>,
  previous_seal: Buffer,
): Buffer {
  const said = [
    row.id,
    row.chain_id,
    row.number,
    row.organization_id,
    row.activity,
    row.scope,
    row.item_id,
    row.item_name,
    row.changes,
  ];
  const actor = [
    row.user_id,
    row.user_uuid,
    row.user_email,
    row.key_id,
    row.key_mask,
    row.session_id,
    row.ip,
    row.request_id,
  ];
  // In PostgreSQL's notation, without trailing zeros: the hashes of old entries with six digits
  // depend on it.
  const created_at = row.created_at.replace(/\.?0*Z$/, 'Z');
  return secrets.chain(
    JSON.stringify([
      ...said,
      ...actor,
      created_at,
      row.previous_hash.toString('hex'),
      previous_seal.toString('hex'),
    ]),
  );
}

/** Returns the seal of a head: without the server's key, nobody can forge the end of a chain. */
export function sealOf(secrets: Secrets, end: ChainEnd): Buffer {
  return secrets.chain(
    JSON.stringify(['head', end.chain_id, end.number, end.hash.toString('hex')]),
  );
}
