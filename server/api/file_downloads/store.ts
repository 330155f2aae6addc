import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { EventFilter } from '../../engine/model/models/event_filter.ts';
import type { Encoding, FileFormat, Compression } from '../../engine/model/destination/encoding.ts';
import { extensionOf } from '../../engine/model/destination/encoding.ts';
import type { ModelName } from '../../engine/model/models/model.ts';
import type { StoredSlice } from '../../engine/model/run.ts';
import type { BackfillBy } from '../../engine/exports/planning/backfill_area.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { FileDownload } from './schema.ts';

/** Lifetime of a download. */
const hours_max = 24;

/** Returns the encoding of a download's files. */
export function encodingOf({
  file_format,
  compression,
}: {
  file_format: FileFormat;
  compression: Compression | null;
}): Encoding {
  return { format: file_format, compression };
}

/** A download as requested; instants are ISO 8601 text. */
export type Asked = {
  team_id: number;
  batch_export_id: string | null;
  model: ModelName;
  custom_query: string | null;
  event_filter: EventFilter;
  selects_by: BackfillBy;
  start_at: string;
  end_at: string;
  file_format: FileFormat;
  compression: Compression | null;
  max_file_size_mb: number | null;
  created_by: number | null;
};

/** Selects the downloads `d` in their wire form, without the names of their files. */
const selectDownloads = sql`
  SELECT d.id, d.team_id AS project, d.batch_export_id AS batch_export, d.model, d.start_at,
    d.end_at, d.selects_by AS by, d.event_filter -> 'include_events' AS include_events,
    d.event_filter -> 'exclude_events' AS exclude_events, d.file_format, d.compression,
    d.max_file_size_mb, d.status, d.detail,
    (SELECT sum((slice ->> 'records')::bigint)::bigint FROM jsonb_array_elements(d.slices) slice)
      AS counted,
    (SELECT jsonb_agg((slice ->> 'records')::bigint ORDER BY (slice ->> 'number')::int)
      FROM jsonb_array_elements(d.slices) slice) AS records_of_parts,
    u.email AS created_by, d.created_at, d.expires_at
  FROM file_downloads d LEFT JOIN users u ON u.id = d.created_by`;

/** A selected download. */
export type DownloadRow = Omit<
  FileDownload,
  'detail' | 'records' | 'parts' | 'file_format' | 'compression'
> & {
  detail: string | null;
  counted: number | null;
  records_of_parts: number[] | null;
  file_format: FileFormat;
  compression: Compression | null;
};

/** Returns a selected download in its wire form. */
export function shownDownload({ counted, records_of_parts, ...row }: DownloadRow): FileDownload {
  const parts = (records_of_parts ?? []).map((records, index) => ({
    number: index + 1,
    records,
    name: fileName(row, index + 1),
  }));
  const records = row.status === 'Completed' ? (counted ?? 0) : null;
  return { ...row, detail: row.detail ?? sentenceOf(row, parts.length), records, parts };
}

function sentenceOf(
  { status, expires_at }: Pick<DownloadRow, 'status' | 'expires_at'>,
  parts: number,
) {
  if (status === 'Starting') return 'Sluice is counting the rows.';
  if (parts === 0) return 'The range has no rows.';
  return `Fetch the parts until ${expires_at}; then the download is removed.`;
}

/** Returns the name of a part's file. */
export function fileName(
  row: Pick<DownloadRow, 'id' | 'model' | 'start_at' | 'file_format' | 'compression'>,
  number: number,
): string {
  const part = String(number).padStart(4, '0');
  const of = `${row.model}-${row.start_at.slice(0, 10)}-${row.id.slice(-12)}-${part}`;
  return `${of}${extensionOf(encodingOf(row))}`;
}

/** Lists the unexpired downloads of a project, newest first. */
export function listDownloads(team_id: number): List {
  const condition = sql`d.team_id = ${team_id} AND d.expires_at > now()`;
  return {
    rows: ({ limit, offset }) => sql`${selectDownloads} WHERE ${condition}
      ORDER BY d.created_at DESC, d.id DESC LIMIT ${limit} OFFSET ${offset}`,
    count: sql`SELECT count(*) AS count FROM file_downloads d WHERE ${condition}`,
  };
}

/** Returns the download of the project, unless it has expired. */
export async function findDownload(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<FileDownload | undefined> {
  const row = await db.row<DownloadRow>(sql`${selectDownloads}
    WHERE d.team_id = ${team_id} AND d.id = ${id}::uuid AND d.expires_at > now()`);
  return row && shownDownload(row);
}

/** Returns the content of an export of the project; undefined if it does not exist. */
export function findExportContent(
  db: Queryable,
  { team_id, id }: { team_id: number; id: string },
): Promise<
  | (Pick<Asked, 'model' | 'custom_query'> & { destination_config: Record<string, unknown> | null })
  | undefined
> {
  return db.row(sql`SELECT model, custom_query, destination_config FROM batch_exports
    WHERE id = ${id}::uuid AND team_id = ${team_id} AND deleted_at IS NULL`);
}

/** Counts the unexpired downloads of an organization; `next`: when the first expires. */
export async function countOpenDownloads(
  tx: Transaction,
  organization_id: string,
): Promise<{ count: number; next_seconds: number }> {
  // Locks the organization, so that two requests at once are counted one after the other.
  await tx.row(sql`SELECT 1 FROM organizations WHERE id = ${organization_id}::uuid FOR UPDATE`);
  return (await tx.row<{ count: number; next_seconds: number }>(sql`
    SELECT count(*)::int AS count,
      coalesce(ceil(extract(epoch FROM min(d.expires_at) - now())), 0)::int AS next_seconds
    FROM file_downloads d JOIN projects p ON p.id = d.team_id
    WHERE p.organization_id = ${organization_id}::uuid AND d.expires_at > now()`))!;
}

/** Adds a download, which an API process then counts. */
export async function insertDownload(tx: Transaction, asked: Asked): Promise<string> {
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO file_downloads (id, team_id, batch_export_id, model, custom_query, event_filter,
      selects_by, start_at, end_at, watermark, file_format, compression, max_file_size_mb,
      created_by, expires_at)
    VALUES (${id}, ${asked.team_id}, ${asked.batch_export_id}, ${asked.model},
      ${asked.custom_query}, ${JSON.stringify(asked.event_filter)}::jsonb, ${asked.selects_by},
      ${asked.start_at}::timestamptz, ${asked.end_at}::timestamptz,
      date_trunc('milliseconds', clock_timestamp()), ${asked.file_format}, ${asked.compression},
      ${asked.max_file_size_mb}, ${asked.created_by},
      now() + make_interval(hours => ${hours_max}))`);
  return id;
}

/** Deletes the download of the project; returns false if there is none. */
export async function deleteDownload(
  tx: Transaction,
  team_id: number,
  id: string,
): Promise<boolean> {
  return (
    (await tx.run(
      sql`DELETE FROM file_downloads WHERE team_id = ${team_id} AND id = ${id}::uuid`,
    )) > 0
  );
}

/** The rows that a download reads, and their files. */
export type DownloadSource = Omit<Asked, 'created_by' | 'batch_export_id'> & {
  id: string;
  watermark: string;
  attempts: number;
};

const source_columns = sql`d.id, d.team_id, d.model, d.custom_query, d.event_filter, d.selects_by,
  d.start_at, d.end_at, d.watermark, d.file_format, d.compression, d.max_file_size_mb, d.attempts`;

/** Returns the rows of one part of a download; undefined if it does not exist. */
export function findPart(
  db: Queryable,
  { team_id, id, number }: { team_id: number; id: string; number: number },
): Promise<(DownloadSource & { slice: StoredSlice }) | undefined> {
  return db.row(sql`SELECT ${source_columns}, d.slices -> ${number - 1}::int AS slice
    FROM file_downloads d WHERE d.team_id = ${team_id} AND d.id = ${id}::uuid
      AND d.expires_at > now() AND d.slices -> ${number - 1}::int IS NOT NULL`);
}

/**
 * Leases the download that has waited longest, among those whose rows are final, for so many
 * seconds. The lease of a dead process expires.
 */
export function claimDownload(
  db: Queryable,
  { settle_seconds, lease_seconds }: { settle_seconds: number; lease_seconds: number },
): Promise<DownloadSource | undefined> {
  // SKIP LOCKED: processes share the work. Uses file_downloads_starting.
  return db.row(sql`
    UPDATE file_downloads d SET attempts = attempts + 1,
      claimed_until = now() + make_interval(secs => ${lease_seconds})
    WHERE d.id = (SELECT id FROM file_downloads WHERE status = 'Starting'
        AND watermark <= now() - make_interval(secs => ${settle_seconds})
        AND (claimed_until IS NULL OR claimed_until <= now())
      ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING ${source_columns}`);
}

/** Ends the counting of a leased download; with `wait_seconds`, a later attempt follows. */
export async function settleDownload(
  db: Queryable,
  { id, attempts }: Pick<DownloadSource, 'id' | 'attempts'>,
  end: { slices: StoredSlice[] } | { failed: string } | { wait_seconds: number },
): Promise<void> {
  const changes: Sql =
    'slices' in end
      ? sql`status = 'Completed', slices = ${JSON.stringify(end.slices)}::jsonb`
      : 'failed' in end
        ? sql`status = 'Failed', detail = ${end.failed}`
        : sql`claimed_until = now() + make_interval(secs => ${end.wait_seconds})`;
  // If another process has the next attempt, this one's lease had expired.
  await db.run(sql`UPDATE file_downloads SET ${changes}
    WHERE id = ${id}::uuid AND attempts = ${attempts} AND status = 'Starting'`);
}

/** Deletes expired downloads. */
export async function sweepDownloads(db: Queryable): Promise<void> {
  await db.run(sql`DELETE FROM file_downloads WHERE expires_at <= now()`);
}
