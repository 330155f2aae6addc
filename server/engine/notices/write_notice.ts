import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { writeRunLogs } from '../model/run_log.ts';
import type { Notice, NoticeBody } from './notice.ts';

/**
 * Delay of mails for further events: a failing destination affects many exports, and one mail
 * reports all.
 */
const mail_wait_seconds = 10;

/** Writes a notice to the outbox, like `writeNotices`. */
export async function writeNotice(
  tx: Transaction,
  clock: Clock,
  batch_export_id: string,
  notice: Notice,
): Promise<void> {
  await writeNotices(tx, clock, [{ ...notice, batch_export_id }]);
}

/** Writes a notice about a tool to the outbox, in the transaction of the reported change. */
export async function writeToolNotice(
  tx: Transaction,
  clock: Clock,
  config_id: number,
  { event, detail, facts }: Omit<Notice, 'run'>,
): Promise<void> {
  const of = await tx.row<Required<Pick<NoticeBody['data'], 'plugin_config' | 'project'>>>(sql`
    SELECT json_build_object('id', c.id, 'team_id', c.team_id, 'name', coalesce(p.name, ''),
        'plugin', p.id) AS plugin_config,
      json_build_object('id', t.id, 'name', t.name, 'timezone', t.timezone) AS project
    FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id JOIN projects t ON t.id = c.team_id
    WHERE c.id = ${config_id}`);
  if (of === undefined) return;
  const created_at = isoInstant(clock.now());
  const body: NoticeBody = {
    type: `plugin_config.${event}`,
    timestamp: created_at,
    data: { ...of, detail, run: null, ...facts },
  };
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO notices (id, plugin_config_id, event, body, created_at)
    VALUES (${id}, ${config_id}, ${event}, ${JSON.stringify(body)}, ${created_at})`);
  await tx.run(toRecipients([id]));
}

/**
 * Writes notices to the outbox, and their sentences to the exports' logs, in the transaction of the
 * reported changes: all commit or none. Each goes to every target of its project that wants it at
 * this moment. If the project has no target, it goes to the administrators (level 8 and more) of
 * its organization. The caller holds the locks on the exports' rows.
 */
export async function writeNotices(
  tx: Transaction,
  clock: Clock,
  notices: (Notice & { batch_export_id: string })[],
): Promise<void> {
  if (notices.length === 0) return;
  type Subject = Required<Pick<NoticeBody['data'], 'batch_export' | 'project'>>;
  const rows = await tx.rows<Subject>(sql`
    SELECT json_build_object('id', e.id, 'team_id', e.team_id, 'name', e.name, 'model', e.model,
        'interval', e."interval", 'destination_type', e.destination_type) AS batch_export,
      json_build_object('id', p.id, 'name', p.name, 'timezone', p.timezone) AS project
    FROM batch_exports e JOIN projects p ON p.id = e.team_id
    WHERE e.id = ANY (${notices.map((notice) => notice.batch_export_id)}::uuid[])`);
  const known = new Map(rows.map((row) => [row.batch_export.id, row]));
  const created_at = isoInstant(clock.now());
  const bodies = notices.map(({ batch_export_id, event, detail, run, facts }): NoticeBody => ({
    type: `batch_export.${event}`,
    timestamp: created_at,
    data: { ...known.get(batch_export_id)!, detail, run, ...facts },
  }));
  const ids = notices.map(() => uuidv7());
  await tx.run(sql`
    INSERT INTO notices (id, batch_export_id, event, body, created_at)
    SELECT notice.*, ${created_at}::timestamptz FROM unnest(${ids}::uuid[],
      ${notices.map((notice) => notice.batch_export_id)}::uuid[],
      ${notices.map(({ event }) => event)}::text[],
      ${bodies.map((body) => JSON.stringify(body))}::text[]) AS notice`);
  await tx.run(toRecipients(ids));
  await writeRunLogs(
    tx,
    notices.map(({ batch_export_id, event, detail, run }) => ({
      batch_export_id,
      run_id: run?.id ?? null,
      level: event === 'recovered' ? 'INFO' : 'WARNING',
      message: detail,
    })),
  );
}

/**
 * Addresses notices to the recipients that want them. A target of chosen exports gets no notices of
 * tools.
 */
function toRecipients(ids: string[]): Sql {
  return sql`
    WITH notice AS MATERIALIZED (
      SELECT told.id, told.event, told.batch_export_id, told.plugin_config_id, told.created_at,
        coalesce(export.team_id, config.team_id) AS team_id
      FROM notices told LEFT JOIN batch_exports export ON export.id = told.batch_export_id
        LEFT JOIN plugin_configs config ON config.id = told.plugin_config_id
      WHERE told.id = ANY (${ids}::uuid[])
    )
    INSERT INTO notice_deliveries (notice_id, team_id, batch_export_id, plugin_config_id,
      target_id, address, next_attempt_at)
    SELECT n.id, t.team_id, n.batch_export_id, n.plugin_config_id, t.id, NULL,
      n.created_at + make_interval(secs => CASE t.type WHEN 'email' THEN ${mail_wait_seconds}
        ELSE 0 END)
    FROM notice n JOIN notice_targets t ON t.team_id = n.team_id AND t.enabled
      AND n.event = ANY (t.events)
      AND (t.batch_export_ids IS NULL OR n.batch_export_id = ANY (t.batch_export_ids))
    UNION ALL
    SELECT n.id, p.id, n.batch_export_id, n.plugin_config_id, NULL, u.email,
      n.created_at + make_interval(secs => ${mail_wait_seconds})
    FROM notice n JOIN projects p ON p.id = n.team_id
    JOIN members m ON m.organization_id = p.organization_id AND m.level >= 8 JOIN users u
      ON u.id = m.user_id AND u.is_active
    WHERE NOT EXISTS (SELECT 1 FROM notice_targets t WHERE t.team_id = p.id)`;
}
