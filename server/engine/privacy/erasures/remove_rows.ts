import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { onEachReplica } from '../../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../../platform/counted.ts';
import { countWhere, deleteRows } from '../../model/removals/delete_rows.ts';
import type { RowTable } from '../../model/removals/delete_rows.ts';
import type { Engine } from '../../exports/engine.ts';
import { noteDetail } from './erasure.ts';
import type { Erasure, StepEnd } from './erasure.ts';

/**
 * Removes the rows from the analytics store. It continues only when no replica has them, neither in
 * the tables nor in their projections. The statements contain no names. May be repeated.
 */
export async function removeNoted(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { clickhouse, clock, db } = engine;
  const spans = await spansNoted(clickhouse, erasure.id, signal);
  let left = 0;
  for (const [table, kind, key] of [
    ['events', 'event', 'toString(uuid)'],
    ['persons', 'person', 'distinct_id'],
  ] satisfies [RowTable, string, string][]) {
    const span = spans.get(kind);
    if (span === undefined) continue;
    const wanted = {
      table,
      // The bounds exclude parts that cannot contain the rows.
      condition: `team_id = {team_id:Int64}
        AND inserted_at >= fromUnixTimestamp64Micro({first:Int64}, 'UTC')
        AND inserted_at <= fromUnixTimestamp64Micro({last:Int64}, 'UTC')
        AND ${key} IN (SELECT key FROM erasing_rows
          WHERE erasure_id = {erasure_id:UUID} AND kind = {kind:String})`,
      query_params: { team_id: erasure.team_id, erasure_id: erasure.id, kind, ...span },
    };
    if ((await countWhere(clickhouse, wanted, signal)) > 0)
      await deleteRows(clickhouse, wanted, signal, (parts) =>
        noteDetail(db, erasure, `The store has ${counted(parts, 'part')} of ${table} to rewrite.`),
      );
    const counts = await onEachReplica(clickhouse, [table, 'erasing_rows'], async () => [
      await countWhere(clickhouse, wanted, signal),
      await countWhere(clickhouse, wanted, signal, true),
    ]);
    for (const rows of counts.flat()) left += rows;
  }
  if (left > 0)
    return { step: 'remove', detail: 'The store still has rows of this erasure.', wait_seconds: 2 };
  // The next batch drops the persons that processes have cached.
  await db.run(sql`UPDATE ingestion_states SET persons_generation = persons_generation + 1
    WHERE team_id = ${erasure.team_id}`);
  return { step: 'settle', detail: null, removed_at: isoInstant(clock.now()) };
}

/**
 * Returns the first and last ingestion of the noted rows of each kind, in microseconds; omits kinds
 * without notes.
 */
export async function spansNoted(
  clickhouse: ClickHouse,
  erasure_id: string,
  abort_signal: AbortSignal,
): Promise<Map<string, { first: string; last: string }>> {
  const rows = await clickhouse.rows<{ kind: string; first: string; last: string }>({
    query: `SELECT kind, toString(toUnixTimestamp64Micro(min(inserted_at))) AS first,
        toString(toUnixTimestamp64Micro(max(inserted_at))) AS last
      FROM erasing_rows WHERE erasure_id = {erasure_id:UUID} GROUP BY kind`,
    query_params: { erasure_id },
    abort_signal,
  });
  return new Map(rows.map(({ kind, ...span }) => [kind, span]));
}
