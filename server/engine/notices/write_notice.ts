import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { writeRunLog } from '../run_log.ts';
import type { Notice, NoticeBody } from './notice.ts';

/**
 * Puts a notice into the outbox, and its sentence into the export's log, in the transaction of the
 * change that it tells of: both stand or fall together. It goes to every target of the project that
 * wants it at this moment; while the project has no target at all, to the administrators (level 8
 * and more) of its organization. The caller holds the lock on the export's row.
 */
export async function writeNotice(
  tx: Transaction,
  clock: Clock,
  exportId: string,
  { event, detail, run, facts }: Notice,
): Promise<void> {
  const row = await tx.row<NoticeBody['data']['batch_export']>(sql`
    SELECT id, team_id, name, model, "interval", destination_type FROM batch_exports
      WHERE id = ${exportId}`);
  const id = uuidv7();
  const created_at = isoInstant(clock.now());
  const body: NoticeBody = {
    type: `batch_export.${event}`,
    timestamp: created_at,
    data: { batch_export: row!, detail, run, ...facts },
  };
  await tx.run(sql`
    INSERT INTO notices (id, batch_export_id, event, body, created_at)
      VALUES (${id}, ${exportId}, ${event}, ${JSON.stringify(body)}, ${created_at})`);
  await tx.run(sql`
    INSERT INTO notice_deliveries (notice_id, team_id, batch_export_id, target_id, address,
      next_attempt_at)
    SELECT ${id}::uuid, t.team_id, ${exportId}::uuid, t.id, NULL, ${created_at}::timestamptz
      FROM notice_targets t
    WHERE t.team_id = ${row!.team_id} AND t.enabled AND ${event} = ANY (t.events)
      AND (t.batch_export_ids IS NULL OR ${exportId}::uuid = ANY (t.batch_export_ids))
    UNION ALL
    SELECT ${id}::uuid, p.id, ${exportId}::uuid, NULL, u.email, ${created_at}::timestamptz
      FROM projects p
    JOIN members m ON m.organization_id = p.organization_id AND m.level >= 8 JOIN users u
      ON u.id = m.user_id AND u.is_active
    WHERE p.id = ${row!.team_id} AND NOT EXISTS (SELECT 1 FROM notice_targets t
      WHERE t.team_id = p.id)`);
  await writeRunLog(tx, {
    batch_export_id: exportId,
    run_id: run?.id ?? null,
    level: event === 'recovered' ? 'INFO' : 'WARNING',
    message: detail,
  });
}
