import sql from 'sql-template-tag';
import { findDestination } from '../../destinations/index.ts';
import type { Engine } from '../../exports/engine.ts';
import { eraseRows } from '../../exports/lake_maintenance/erase_rows.ts';
import { delta_tables } from '../../exports/lake_maintenance/delta/delta_work.ts';
import { eraseDeltaRows } from '../../exports/lake_maintenance/delta/erase_delta.ts';
import { whileUnmaintained } from '../../exports/lake_maintenance/lease.ts';
import { erasureKeys } from '../../exports/lake_maintenance/rewrite_rows.ts';
import { lake_tables } from '../../exports/lake_maintenance/work.ts';
import type { ModelName } from '../../model/models/model.ts';
import { erasedBy, why_no_key } from './by_hand.ts';
import type { ErasedBy } from './by_hand.ts';
import type { Erasure, ErasureCounts } from './erasure.ts';

type WaitingExport = {
  id: string;
  destination_type: string;
  model: ModelName;
  custom_query: string | null;
};

/**
 * Removes the rows of the erasure from the tables of exports with listed copies, in our own catalog
 * and in Delta tables, and records it on these copies. A table that cannot be searched or changed
 * keeps its rows, and its copies record why. Returns its changes. A table in use stays listed. May
 * be repeated.
 */
export async function eraseFromTables(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<ErasureCounts> {
  const waiting = await engine.db.rows<WaitingExport>(sql`
    SELECT DISTINCT export.id, copy.destination_type, export.model, export.custom_query
    FROM erasure_copies copy
    JOIN batch_exports export ON export.id = copy.batch_export_id
    WHERE copy.erasure_id = ${erasure.id} AND copy.state = 'waiting'`);
  const counts = {
    lake_files: erasure.counts.lake_files ?? 0,
    lake_snapshots: erasure.counts.lake_snapshots ?? 0,
    lake_files_removed: erasure.counts.lake_files_removed ?? 0,
  };
  for (const one of waiting) {
    const definition = findDestination(one.destination_type);
    if (definition?.erases !== 'in_table') continue;
    const by = erasedBy(definition, one, erasure);
    const outcome =
      by === undefined ? why_no_key : await eraseFromTable(engine, erasure, { ...one, by }, signal);
    if (outcome === undefined) continue;
    if (typeof outcome !== 'string') {
      counts.lake_files += outcome.files;
      counts.lake_snapshots += outcome.snapshots;
      counts.lake_files_removed += outcome.removed;
    }
    const reason = typeof outcome === 'string' ? outcome : null;
    await engine.db.run(sql`UPDATE erasure_copies
      SET state = ${reason === null ? 'rewritten' : 'yours'}, detail = ${reason}
      WHERE erasure_id = ${erasure.id} AND batch_export_id = ${one.id}::uuid
        AND state = 'waiting'`);
  }
  return Object.values(counts).some((count) => count > 0) ? counts : {};
}

async function eraseFromTable(
  engine: Engine,
  { id: erasure_id, team_id }: Erasure,
  { id, destination_type, by }: WaitingExport & { by: ErasedBy },
  signal: AbortSignal,
): ReturnType<typeof eraseRows> {
  const left_out = { erasure_id, ...by };
  const keys = () => keysOf(engine, left_out, signal);
  if (destination_type === 'Delta')
    return whileUnmaintained(engine, delta_tables, { id, team_id }, signal, async (opened) =>
      opened === undefined
        ? 'The table is gone, so nothing was changed. Remove its remaining files yourself.'
        : eraseDeltaRows(opened, left_out, await keys()),
    );
  const table = await engine.db.row<{ id: string }>(sql`
    SELECT t.id FROM batch_exports export JOIN lake_tables t ON t.team_id = export.team_id
    JOIN lake_namespaces n ON n.id = t.namespace_id
    WHERE export.id = ${id}::uuid AND t.name = export.destination_config ->> 'table'
      AND coalesce(export.destination_config ->> 'catalog', 'sluice') = 'sluice'
      AND array_to_string(n.levels, '.')
        = coalesce(export.destination_config ->> 'namespace', 'sluice')
      AND coalesce(export.destination_config ->> 'catalog', 'sluice') = 'sluice'`);
  if (table === undefined)
    return 'This server has no such table in its catalog: remove the rows where it is.';
  return whileUnmaintained(engine, lake_tables, { ...table, team_id }, signal, async (opened) =>
    opened === undefined
      ? 'The files of the table lie where the export does not reach.'
      : eraseRows(opened, left_out, await keys()),
  );
}

async function keysOf(
  { clickhouse }: Engine,
  given: { erasure_id: string; kind: string },
  abort_signal: AbortSignal,
): Promise<Set<string>> {
  const { query, params } = erasureKeys(given);
  const rows = await clickhouse.rows<{ key: string }>({
    query: `SELECT DISTINCT key FROM (${query})`,
    query_params: params,
    abort_signal,
  });
  return new Set(rows.map(({ key }) => key));
}
