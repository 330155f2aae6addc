import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { countWhere, deleteRows } from '../../model/removals/delete_rows.ts';
import type { RowTable } from '../../model/removals/delete_rows.ts';
import type { Erasure } from './erasure.ts';
import { spansNoted } from './remove_rows.ts';

/**
 * Removes the erased events from the traces of tools. Deletes requests and answers first, also
 * those that other events share. These keep their time and outcome. It runs once no tool holds an
 * erased event. May be repeated.
 */
export async function removeTraces(
  clickhouse: ClickHouse,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<void> {
  const span = (await spansNoted(clickhouse, erasure.id, signal)).get('event');
  if (span === undefined) return;
  const query_params = { team_id: erasure.team_id, erasure_id: erasure.id, ...span };
  const ofErased = `team_id = {team_id:Int64}
    AND event_inserted_at >= fromUnixTimestamp64Micro({first:Int64}, 'UTC')
    AND event_inserted_at <= fromUnixTimestamp64Micro({last:Int64}, 'UTC')
    AND toString(event_uuid) IN (SELECT key FROM erasing_rows
      WHERE erasure_id = {erasure_id:UUID} AND kind = 'event')`;
  const conditions: [RowTable, string, string[]][] = [
    [
      'tool_exchanges',
      `team_id = {team_id:Int64} AND id IN (SELECT exchange_id FROM tool_sends WHERE ${ofErased})`,
      ['erasing_rows', 'tool_sends'],
    ],
    ['tool_sends', ofErased, ['erasing_rows']],
  ];
  for (const [table, condition, asked] of conditions) {
    const wanted = { table, condition, query_params };
    if ((await countWhere(clickhouse, wanted, signal)) > 0)
      await deleteRows(clickhouse, wanted, signal, undefined, asked);
  }
}
