import sql from 'sql-template-tag';
import { decideExpiry } from './decide_expiry.ts';
import type { AgedSnapshot } from './decide_expiry.ts';
import { commitHeld } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';

/**
 * Removes expired snapshots and refs from the table in one commit, and returns their number. Files
 * are removed only after that.
 */
export async function expireSnapshots(one: MaintainedTable): Promise<number> {
  const { engine, rules } = one;
  if (!rules.removes_files) return 0;
  let expired = 0;
  await commitHeld(one, async (held, tx) => {
    const snapshots = await tx.rows<AgedSnapshot>(sql`
      SELECT snapshot_id::text AS id, parent_id::text, timestamp_ms FROM lake_snapshots
      WHERE table_id = ${held.id}::uuid ORDER BY number`);
    const expiry = decideExpiry(snapshots, held.metadata.refs, rules, engine.clock.now());
    expired = expiry.snapshots.length;
    return [
      ...expiry.refs.map((name) => ({ action: 'remove-snapshot-ref', 'ref-name': name })),
      ...(expired === 0
        ? []
        : [{ action: 'remove-snapshots', 'snapshot-ids': expiry.snapshots.map(exactId) }]),
    ];
  });
  return expired;
}

/** Returns the id of a snapshot as the metadata has it: a number if that is exact. */
export function exactId(text: string): number | bigint {
  const id = BigInt(text);
  return id <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(id) : id;
}
