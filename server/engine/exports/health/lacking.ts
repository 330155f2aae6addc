import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { deliveredOf } from '../../model/ledger/ledger.ts';
import { boundsOf, subtract, unionOf } from '../../model/ledger/rectangles.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';

/**
 * Records that the next revision lacks what has been delivered up to now; does nothing if no row
 * was delivered. The caller holds the lock on the export's row.
 */
export async function beginLacking(tx: Transaction, id: string, revision: number): Promise<void> {
  const { rows } = (await tx.row<{ rows: number }>(sql`
    WITH completed AS (SELECT id, records_completed, replaces FROM batch_export_runs
      WHERE batch_export_id = ${id} AND revision = ${revision} AND status = 'Completed'
        AND generation IS DISTINCT FROM 'replaced')
    SELECT coalesce(sum(records_completed), 0)::bigint AS rows FROM completed
    -- The run that writes a delivery again counts in place of the first one.
    WHERE NOT EXISTS (SELECT 1 FROM completed later
      WHERE later.replaces ->> 'run_id' = completed.id::text)`))!;
  if (rows === 0) return;
  const { from, until } = spanOf(await earlierAreas(tx, id, revision + 1));
  // Rows that were missing before stay missing, together with those of the ending revision.
  await tx.run(sql`
    INSERT INTO batch_export_health AS h (batch_export_id, revision, consecutive_failures,
      is_failing, is_late, is_volume_unusual, lacks_since, lacks_rows, lacks_from, lacks_until)
    VALUES (${id}, ${revision}, 0, false, false, false, now(), ${rows}, ${from}, ${until})
    ON CONFLICT (batch_export_id) DO UPDATE SET lacks_since = now(),
      lacks_rows = excluded.lacks_rows + CASE WHEN h.lacks_since IS NULL THEN 0
        ELSE h.lacks_rows END,
      lacks_from = excluded.lacks_from, lacks_until = excluded.lacks_until`);
}

/**
 * Updates what exports still lack from earlier revisions, after a run of the present one has
 * completed. The caller holds the locks on their rows.
 */
export async function lessenLacking(
  tx: Transaction,
  ended: { run: { batch_export_id: string; revision: number } }[],
): Promise<void> {
  for (const { run } of ended) {
    const { batch_export_id: id, revision } = run;
    const earlier = await earlierAreas(tx, id, revision);
    const delivered = (await deliveredOf(tx, [{ id, revision }])).get(id) ?? [];
    const lacking = subtract(earlier, delivered);
    const isLess = lacking.length === 0 || subtract(earlier, lacking).length > 0;
    if (!isLess) continue;
    const { from, until } = spanOf(lacking);
    await tx.run(sql`
      UPDATE batch_export_health SET lacks_rows = NULL, lacks_from = ${from},
        lacks_until = ${until},
        lacks_since = CASE WHEN ${lacking.length > 0} THEN lacks_since END
      WHERE batch_export_id = ${id}`);
  }
}

/**
 * Lists what earlier revisions have delivered. Nothing was ingested before the project was created,
 * so a backfill need not reach back further.
 */
async function earlierAreas(tx: Transaction, id: string, revision: number): Promise<Rectangle[]> {
  const earlier = Array.from({ length: revision - 1 }, (_, at) => ({ id, revision: at + 1 }));
  const areas = (await deliveredOf(tx, earlier)).get(id) ?? [];
  const project = await tx.row<{ created_at: string }>(sql`
    SELECT p.created_at FROM projects p JOIN batch_exports e ON e.team_id = p.id
    WHERE e.id = ${id}`);
  const begin = project === undefined ? -Infinity : Date.parse(project.created_at);
  return unionOf(
    areas.map((area) =>
      area.inserted_from === -Infinity && area.inserted_to > begin
        ? { ...area, inserted_from: begin }
        : area,
    ),
  );
}

/** Returns the insertion times of areas; null without a bound. */
function spanOf(areas: Rectangle[]): { from: string | null; until: string | null } {
  const { inserted_from, inserted_to } = boundsOf(areas);
  const instant = (at: number) => (Number.isFinite(at) ? isoInstant(at) : null);
  return { from: instant(inserted_from), until: instant(inserted_to) };
}
