import sql from 'sql-template-tag';
import { listUncertain } from '../../engine/model/ledger/uncertain.ts';
import { waitingSentence } from '../../engine/exports/runs/hold_until_reconciled.ts';
import { commandLine } from '../../platform/command_line.ts';
import { counted } from '../../platform/counted.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { warning } from './finding.ts';
import type { Finding } from './finding.ts';

type Named = { id: string; name: string };

/**
 * Warns of each export that has uncertain deliveries, waits since a restore, is late, is not
 * verified, or failed in the last day. Lists the first ten late and unverified ones.
 */
export async function lookAtExports(db: Database, settle_seconds: number): Promise<Finding[]> {
  const waiting = await db.rows<Named & { taken_at: string; detail: string | null }>(sql`
    SELECT export.id, export.name, held.taken_at, held.detail FROM reconciliations held
      JOIN batch_exports export ON export.id = held.batch_export_id
    WHERE export.deleted_at IS NULL ORDER BY export.created_at, export.id`);
  const late = await db.rows<Named & { late: number }>(sql`
    SELECT id, name, extract(epoch FROM now() - next_run_at)::int AS late FROM batch_exports
    WHERE deleted_at IS NULL AND NOT paused AND next_run_at < now() - make_interval(secs =>
      ${settle_seconds + 300}) ORDER BY next_run_at LIMIT 10`);
  const failed = await db.rows<{ name: string; latest_error: string }>(sql`
    SELECT DISTINCT ON (export.id) export.name, run.latest_error FROM batch_exports export
      JOIN batch_export_runs run ON run.batch_export_id = export.id
    WHERE export.deleted_at IS NULL AND run.status IN ('Failed', 'FailedRetryable')
      AND run.finished_at > now() - interval '1 day' ORDER BY export.id, run.finished_at DESC`);
  const unseen = await db.rows<Named>(sql`
    SELECT export.id, export.name FROM batch_exports export
      JOIN batch_export_watches watch ON watch.batch_export_id = export.id
        AND watch.revision = export.revision
    WHERE export.deleted_at IS NULL AND watch.is_verifiable AND watch.balance_ms >= 0
      AND watch.reason IS NULL AND NOT EXISTS (SELECT 1 FROM batch_export_verifications look
        WHERE look.batch_export_id = export.id AND look.finished_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM reconciliations held WHERE held.batch_export_id = export.id)
      AND EXISTS (SELECT 1 FROM batch_export_runs run WHERE run.batch_export_id = export.id
        AND run.revision = export.revision AND run.status = 'Completed'
        AND run.receipt IS NOT NULL AND run.finished_at < now() - interval '1 hour'
        AND run.finished_at > greatest(watch.verified_at, watch.cycle_started_at, '-infinity')
        AND run.created_at > coalesce(greatest(watch.verified_at, watch.cycle_started_at)
          - interval '2 days', '-infinity'))
    ORDER BY export.created_at, export.id LIMIT 10`);
  const uncertain = Map.groupBy(await listUncertain(db), (one) => one.batch_export_id);
  return [
    ...[...uncertain].map(([id, deliveries]) =>
      warning(
        'export',
        `${id} has ${counted(deliveries.length, 'uncertain delivery')}: the destination may ` +
          'or may not have the rows, and no other run delivers them. Look with ' +
          `\`${commandLine(`verify --export ${id}`)}\`, then retry their runs.`,
      ),
    ),
    ...waiting.map(({ id, name, taken_at, detail }) =>
      warning('export', `"${name}" (${id}) waits. ${waitingSentence(taken_at, detail)}`),
    ),
    ...late.map((row) =>
      warning('export', `"${row.name}" (${row.id}) is ${row.late} s late; is a worker running?`),
    ),
    ...unseen.map(({ id, name }) =>
      warning(
        'export',
        `"${name}" (${id}) has deliveries older than an hour that its scheduled verification ` +
          'has not read. Is the server running? Its log says why looks fail: search it for "is ' +
          'tried again".',
      ),
    ),
    ...failed.map((row) =>
      warning('export', `"${row.name}" failed in the last day: ${row.latest_error}`),
    ),
  ];
}
