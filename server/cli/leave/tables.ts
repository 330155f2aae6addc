import pg from 'pg';
import type { CopySession } from '../../platform/postgres/copy.ts';

/** A file of JSON lines: its rows, and its content. */
export type LinesFile = {
  file: string;
  tells: string;
  /** The table, and the condition for rows of one organization or project. */
  from: string;
  where: (id: string) => string;
  order: string;
  /** Columns that are left out: secrets in text, and values that only this server uses. */
  without?: readonly string[];
  /** Columns of bytes without secrets, written as hex. All other columns of bytes are left out. */
  hex?: readonly string[];
};

const quoted = (id: string) => pg.escapeLiteral(id);
const ofProject = (id: string) => `t.team_id = ${quoted(id)}::int`;
const ofExports = (id: string) =>
  `t.batch_export_id IN (SELECT id FROM batch_exports WHERE team_id = ${quoted(id)}::int)`;

/** The files of an organization. */
export const organization_files: readonly LinesFile[] = [
  {
    file: 'members',
    tells: 'people of the organization, with level (1 member, 8 admin, 15 owner)',
    from: `(SELECT member.*, person.uuid AS user_uuid, person.email, person.first_name,
      person.last_name FROM members member JOIN users person ON person.id = member.user_id)`,
    where: (id) => `t.organization_id = ${quoted(id)}::uuid`,
    order: 't.joined_at, t.id',
  },
  {
    file: 'invites',
    tells: 'open invites',
    from: 'invites',
    where: (id) => `t.organization_id = ${quoted(id)}::uuid`,
    order: 't.created_at, t.id',
    without: ['token_nonce'],
  },
  {
    file: 'activity',
    tells: 'the activity log; `hash` is over the entry and the hash before it',
    from: 'activity',
    where: (id) => `t.chain_id = ${quoted(id)}::uuid`,
    order: 't.number',
    hex: ['hash', 'previous_hash'],
  },
  {
    file: 'security_events',
    tells: 'the security log',
    from: 'security_events',
    where: (id) => `t.organization_id = ${quoted(id)}::uuid`,
    order: 't.number',
  },
];

/** The files of a project. */
export const project_files: readonly LinesFile[] = [
  {
    file: 'batch_exports',
    tells: 'exports with their ids, for the ids in the files below',
    from: 'batch_exports',
    where: ofProject,
    order: 't.created_at, t.id',
  },
  {
    file: 'runs',
    tells: 'runs; `selection` is what each was to deliver',
    from: 'batch_export_runs',
    where: ofExports,
    order: 't.created_at, t.id',
    without: ['receipt', 'silent_workers'],
  },
  {
    file: 'slices',
    tells: 'the files or parts that runs wrote, with rows, bytes and SHA-256',
    from: 'batch_export_slices',
    where: (id) =>
      'EXISTS (SELECT 1 FROM batch_export_runs run JOIN batch_exports export ' +
      `ON export.id = run.batch_export_id WHERE run.id = t.run_id AND export.team_id = ` +
      `${quoted(id)}::int)`,
    order: 't.run_id, t.number',
  },
  {
    file: 'receipts',
    tells: 'signed receipts; `receipt` is the text that was signed, to the byte',
    from: `(SELECT id AS run_id, delivery_id, batch_export_id, data_interval_start,
      data_interval_end, receipt FROM batch_export_runs WHERE receipt IS NOT NULL)`,
    where: ofExports,
    order: 't.data_interval_start, t.run_id',
  },
  {
    file: 'ledger',
    tells: 'the delivered parts, as rectangles of event time and insertion time',
    from: `(SELECT l.batch_export_id, l.revision, l.updated_at,
        coalesce(p.delivered, l.delivered) AS delivered
      FROM batch_export_ledgers l LEFT JOIN batch_export_ledger_pages p
        ON l.delivered = 'null' AND p.batch_export_id = l.batch_export_id
          AND p.revision = l.revision)`,
    where: ofExports,
    order: 't.batch_export_id, t.revision',
  },
  {
    file: 'backfills',
    tells: 'backfills',
    from: 'batch_export_backfills',
    where: ofExports,
    order: 't.created_at, t.id',
  },
  {
    file: 'logs',
    tells: 'log lines of exports',
    from: 'batch_export_logs',
    where: ofExports,
    order: 't.id',
  },
  {
    file: 'erasures',
    tells: 'erasures with their signed certificates',
    from: 'erasures',
    where: ofProject,
    order: 't.created_at, t.id',
  },
  {
    file: 'event_catalogue',
    tells: 'names of events, with first and last time',
    from: 'event_catalogue',
    where: ofProject,
    order: 't.event',
  },
];

/**
 * Opens a file's lines, one JSON object per row. Guarantee: only named columns of bytes are
 * included; envelopes of secrets are columns of bytes.
 */
export async function openLines(
  session: CopySession,
  { from, where, order, without = [], hex = [] }: LinesFile,
  id: string,
): Promise<ReturnType<CopySession['copyLines']>> {
  const wanted = (await session.columnsOf(from)).filter(
    ({ name, is_bytes }) => !without.includes(name) && (!is_bytes || hex.includes(name)),
  );
  const columns = wanted.map(({ name, is_bytes }) => {
    const column = pg.escapeIdentifier(name);
    return is_bytes ? `encode(t.${column}, 'hex') AS ${column}` : `t.${column}`;
  });
  return session.copyLines(
    `SELECT row_to_json(line) FROM (SELECT ${columns.join(', ')} FROM ${from} t
     WHERE ${where(id)} ORDER BY ${order}) line`,
  );
}
