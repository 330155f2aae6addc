import { setImmediate as letOthers } from 'node:timers/promises';
import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Database, Transaction } from '../postgres/database.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { genesis_hash, hashOf, sealOf } from './chain.ts';
import type { ChainEnd, StoredEntry } from './chain.ts';

/** A place where a chain was changed: the entry's number and a sentence about the fault. */
export type ChainFault = { chain_id: string; number: number; detail: string };

/**
 * The result of a check of the whole log. `entries_changed` counts entries whose hash does not
 * match. The first 1,000 faults are listed; `faults_found` counts all.
 */
export type VerifiedActivity = {
  entries: number;
  chains: number;
  entries_changed: number;
  faults_found: number;
  faults: ChainFault[];
};

type Head = ChainEnd & { seal: Buffer };

const changed_entry =
  'The entry is not what the server wrote here, or the head of the chain had been changed ' +
  'when it was written.';
const faults_kept_max = 1_000;
const read_at_once = 1_000;
const before_all = '00000000-0000-0000-0000-000000000000';

/**
 * Reads every entry again and reports where a chain was edited, or where entries were removed,
 * reordered, added or cut off. Reads one snapshot of the database in batches, so memory does not
 * grow. It cannot detect the removal of a whole chain with its head, nor a chain and head restored
 * from an earlier copy. With `chain_id`, it only reads that chain.
 */
export async function verifyActivity(
  db: Database,
  secrets: Secrets,
  chain_id?: string,
): Promise<VerifiedActivity> {
  return db.transaction(async (tx) => {
    await tx.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const found_heads = await listHeads(tx, chain_id);
    const heads = new Map(found_heads.map((head) => [head.chain_id, head]));
    const found: VerifiedActivity = {
      entries: 0,
      chains: heads.size,
      entries_changed: 0,
      faults_found: 0,
      faults: [],
    };
    const tell = (chain_id: string, number: number, detail: string | undefined) => {
      if (detail === undefined) return;
      found.faults_found += 1;
      if (found.faults.length < faults_kept_max) found.faults.push({ chain_id, number, detail });
    };
    const endChain = (end: ChainEnd) => {
      tell(end.chain_id, end.number, headFault(end, heads.get(end.chain_id), secrets));
      heads.delete(end.chain_id);
    };
    let end: ChainEnd | undefined;
    const next = () => portion(tx, end, chain_id);
    for (let rows = await next(); rows.length > 0; rows = await next()) {
      for (const row of rows) {
        if (end !== undefined && end.chain_id !== row.chain_id) endChain(end);
        const detail = entryFault(
          row,
          end?.chain_id === row.chain_id ? end : beginning(row.chain_id),
          secrets,
        );
        if (detail === changed_entry) found.entries_changed += 1;
        tell(row.chain_id, row.number, detail);
        end = row;
      }
      found.entries += rows.length;
      await letOthers();
    }
    if (end !== undefined) endChain(end);
    // The remaining heads belong to chains without entries.
    for (const head of heads.values())
      tell(head.chain_id, head.number, headFault(beginning(head.chain_id), head, secrets));
    return found;
  });
}

/** Reads the next entries by chain and number; uses activity_number_unique. */
function portion(
  tx: Transaction,
  after: ChainEnd | undefined,
  chain_id: string | undefined,
): Promise<StoredEntry[]> {
  return tx.rows<StoredEntry>(sql`
    SELECT id, chain_id, number, organization_id, activity, scope, item_id, item_name,
      changes::text AS changes, user_id, user_uuid, user_email, key_id, key_mask, session_id, ip,
      request_id, created_at, previous_hash, hash
    FROM activity WHERE (chain_id, number) > (${after?.chain_id ?? before_all}::uuid,
      ${after?.number ?? 0}::bigint) ${ofChain(chain_id)}
    ORDER BY chain_id, number LIMIT ${read_at_once}`);
}

function listHeads(tx: Transaction, chain_id: string | undefined): Promise<Head[]> {
  return tx.rows<Head>(sql`SELECT chain_id, number, hash, seal FROM activity_heads
    WHERE true ${ofChain(chain_id)}`);
}

function ofChain(chain_id: string | undefined): Sql {
  return chain_id === undefined ? empty : sql`AND chain_id = ${chain_id}::uuid`;
}

function beginning(chain_id: string): ChainEnd {
  return { chain_id, number: 0, hash: genesis_hash };
}

function entryFault(row: StoredEntry, before: ChainEnd, secrets: Secrets): string | undefined {
  const { chain_id, number, previous_hash } = row;
  if (
    !hashOf(
      secrets,
      row,
      sealOf(secrets, { chain_id, number: number - 1, hash: previous_hash }),
    ).equals(row.hash)
  )
    return changed_entry;
  if (number !== before.number + 1) return missing(before.number + 1, number - 1);
  return previous_hash.equals(before.hash)
    ? undefined
    : 'The entry does not follow the one before it.';
}

function headFault(end: ChainEnd, head: Head | undefined, secrets: Secrets): string | undefined {
  if (head === undefined) return 'The head of the chain is missing.';
  if (!sealOf(secrets, head).equals(head.seal))
    return 'The head of the chain was changed: entries may have been cut off its end.';
  if (head.number > end.number) return missing(end.number + 1, head.number);
  return head.number === end.number && head.hash.equals(end.hash)
    ? undefined
    : 'The entry comes after the end of its chain, or is not the last entry.';
}

function missing(first: number, last: number): string {
  return first === last
    ? `The entry ${first} is missing.`
    : `The entries ${first} to ${last} are missing.`;
}
