import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Transaction } from '../postgres/database.ts';
import type { Secrets } from '../secrets.ts';
import type { Change } from './changes.ts';

/** Who did it. All null: the server itself. */
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

/** What was done: `activity` is the past tense of the action, `scope` the noun of the thing, `item_id` and `item_name` which one. */
export type Activity = { activity: string; scope: string; item_id: string; item_name: string | null; changes: Change[] };

/** Where an entry is kept: in the chain of an organization, or in that of a person for what is his alone. */
export type Chain = { organization_id: string } | { user_uuid: string };

/** The actor of what the server does by itself. */
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

type Row = Actor &
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

type Head = { chain_id: string; number: number; hash: Buffer };

const genesis = Buffer.alloc(32);
const verified_at_once = 5_000;

/**
 * Appends one entry to its chain, in the transaction of the change. Guarantee: numbers have no gaps and follow the order of commits, because the chain's
 * head is locked until the transaction ends; so this comes last in a transaction.
 */
export async function appendActivity(tx: Transaction, secrets: Secrets, chain: Chain, actor: Actor, activity: Activity): Promise<void> {
  const organization_id = 'organization_id' in chain ? chain.organization_id : null;
  const chain_id = 'organization_id' in chain ? chain.organization_id : chain.user_uuid;
  // The row lock of the head is the lock of the chain.
  const [head] = await tx.rows<{ number: number; previous_hash: Buffer; created_at: string }>(sql`
    INSERT INTO activity_heads (chain_id, number, hash) VALUES (${chain_id}::uuid, 1, ${genesis})
    ON CONFLICT (chain_id) DO UPDATE SET number = activity_heads.number + 1
    RETURNING number, hash AS previous_hash, clock_timestamp() AS created_at`);
  const { item_id, item_name, scope } = activity;
  const row = {
    ...actor,
    ...{ id: uuidv7(), chain_id, organization_id, activity: activity.activity, scope, item_id, item_name },
    ...{ changes: JSON.stringify(activity.changes), ...head! },
  };
  const hash = secrets.hash(hashedText(row));
  await tx.run(sql`
    WITH entry AS (
      INSERT INTO activity (id, chain_id, number, organization_id, activity, scope, item_id, item_name, changes, user_id, user_uuid, user_email, key_id, key_mask,
        session_id, ip, request_id, created_at, previous_hash, hash)
      VALUES (${row.id}, ${chain_id}::uuid, ${row.number}, ${organization_id}::uuid, ${row.activity}, ${scope}, ${item_id}, ${item_name}, ${row.changes}::json,
        ${row.user_id}, ${row.user_uuid}::uuid, ${row.user_email}, ${row.key_id}::uuid, ${row.key_mask}, ${row.session_id}::uuid, ${row.ip}, ${row.request_id},
        ${row.created_at}::timestamptz, ${row.previous_hash}, ${hash}))
    UPDATE activity_heads SET hash = ${hash} WHERE chain_id = ${chain_id}::uuid`);
}

/** Everything that an entry says, in one text: the same row always gives the same one. */
function hashedText(row: Omit<Row, 'hash'>): string {
  return JSON.stringify([
    row.id,
    row.chain_id,
    row.number,
    row.organization_id,
    row.activity,
    row.scope,
    row.item_id,
    row.item_name,
    row.changes,
    row.user_id,
    row.user_uuid,
    row.user_email,
    row.key_id,
    row.key_mask,
    row.session_id,
    row.ip,
    row.request_id,
    row.created_at,
    row.previous_hash.toString('hex'),
  ]);
}

/** A place at which a chain is not what was written. */
export type ChainFault = { chain_id: string; number: number; detail: string };

/**
 * Reads every entry again and gives where a chain was edited, thinned out, reordered or cut, and how many entries there are. Reads one state of the database in portions, so
 * memory does not grow. What it cannot see: a chain whose end was cut off and whose head was put back to what it was then.
 */
export async function verifyActivity(db: Database, secrets: Secrets): Promise<{ entries: number; faults: ChainFault[] }> {
  return db.transaction(async (tx) => {
    await tx.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const heads = await tx.rows<Head>(sql`SELECT chain_id, number, hash FROM activity_heads`);
    const ends = new Map(heads.map((head) => [head.chain_id, head]));
    const faults: ChainFault[] = [];
    let entries = 0;
    let last: Head | undefined;
    for (let rows = await portion(tx, last); rows.length > 0; rows = await portion(tx, last)) {
      for (const row of rows) {
        const before = last?.chain_id === row.chain_id ? last : { number: 0, hash: genesis };
        const detail = faultOf(row, before, secrets, ends.get(row.chain_id));
        if (detail !== undefined) faults.push({ chain_id: row.chain_id, number: row.number, detail });
        if (ends.get(row.chain_id)?.hash.equals(row.hash) === true) ends.delete(row.chain_id);
        last = row;
      }
      entries += rows.length;
    }
    for (const { chain_id, number } of ends.values()) faults.push({ chain_id, number, detail: 'The last entry of the chain is missing or was changed.' });
    return { entries, faults };
  });
}

/** The next entries by chain and number; leans on activity_number_unique. */
function portion(tx: Transaction, after: Head | undefined): Promise<Row[]> {
  return tx.rows<Row>(sql`
    SELECT id, chain_id, number, organization_id, activity, scope, item_id, item_name, changes::text AS changes, user_id, user_uuid, user_email, key_id, key_mask, session_id, ip,
      request_id, created_at, previous_hash, hash
    FROM activity WHERE (chain_id, number) > (${after?.chain_id ?? '00000000-0000-0000-0000-000000000000'}::uuid, ${after?.number ?? 0}::bigint)
    ORDER BY chain_id, number LIMIT ${verified_at_once}`);
}

function faultOf(row: Row, before: { number: number; hash: Buffer }, secrets: Secrets, end: Head | undefined): string | undefined {
  if (!secrets.hash(hashedText(row)).equals(row.hash)) return 'The entry was edited.';
  if (row.number !== before.number + 1) return `The entries ${before.number + 1} to ${row.number - 1} are missing.`;
  if (!row.previous_hash.equals(before.hash)) return 'The entry does not follow the one before it.';
  return end === undefined ? 'The entry stands after the end of its chain.' : undefined;
}
