import sql from 'sql-template-tag';
import { verifyPartsOf } from '../../../engine/exports/verification/verify_parts.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { counted } from '../../../platform/counted.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { verified_columns } from '../verified.ts';
import type { BatchExport } from '../schema.ts';
import type { Deviation } from './schema.ts';
import { shownDeviation } from './routes.ts';
import { statedDeviations } from './store.ts';

/** Most findings that a statement lists, the newest ones. */
const findings_max = 1_000;

/** A statement of what the server found at a destination, for auditors without Sluice. */
export type Statement = {
  version: 1;
  type: 'verification';
  batch_export: { id: string; name: string; team_id: number; project: string };
  destination: { type: string; place: string };
  /** The data intervals of the deliveries; null: unbounded. */
  period: { after: string | null; before: string | null };
  verified_through: string | null;
  verification: BatchExport['verification'];
  deliveries: number;
  slices: number;
  records: number;
  /** Found as delivered, by seals or by comparing the contents. */
  verified: { deliveries: number; records: number };
  /** The part compared by their contents since delivery. */
  read: { deliveries: number; records: number };
  findings: Pick<
    Deviation,
    | 'state'
    | 'kind'
    | 'detail'
    | 'differences'
    | 'first_seen_at'
    | 'last_seen_at'
    | 'resolved_at'
    | 'accepted_at'
    | 'accepted_by'
    | 'accepted_reason'
  >[];
  /** Findings of the period beyond the listed ones. */
  findings_left_out: number;
  created_at: string;
};

type ExportFacts = Pick<BatchExport, 'verified_through' | 'verification'> & {
  id: string;
  name: string;
  team_id: number;
  project: string;
  revision: number;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  write_rule: WriteRule | null;
};

/** Builds the statement about an export's deliveries of a period, as of now. */
export async function makeStatement(
  db: Queryable,
  id: string,
  period: Statement['period'],
  created_at: string,
): Promise<Statement> {
  const facts = (await db.row<ExportFacts>(sql`
    SELECT e.id, e.name, e.team_id, p.name AS project, e.revision, e.destination_type,
      e.destination_config, e.write_rule, ${verified_columns}
    FROM batch_exports e JOIN projects p ON p.id = e.team_id WHERE e.id = ${id}`))!;
  const { deliveries, slices, records, ...counts } = await countVerified(db, facts, period);
  const rows = await statedDeviations(db, facts, period, findings_max + 1);
  const { verified_through, verification } = facts;
  return {
    version: 1,
    type: 'verification',
    batch_export: { id, name: facts.name, team_id: facts.team_id, project: facts.project },
    destination: { type: facts.destination_type, place: placeOf(facts) },
    period,
    verified_through,
    verification,
    deliveries,
    slices,
    records,
    verified: { deliveries: counts.verified_deliveries, records: counts.verified_records },
    read: { deliveries: counts.read_deliveries, records: counts.read_records },
    findings: rows
      .slice(0, findings_max)
      .map(shownDeviation)
      .map(({ state, kind, detail, differences, ...times }) => ({
        state,
        kind,
        detail,
        differences,
        first_seen_at: times.first_seen_at,
        last_seen_at: times.last_seen_at,
        resolved_at: times.resolved_at,
        accepted_at: times.accepted_at,
        accepted_by: times.accepted_by,
        accepted_reason: times.accepted_reason,
      })),
    findings_left_out: Math.max(0, rows.length - findings_max),
    created_at,
  };
}

/** Returns host, bucket and names of the destination, without secrets. */
function placeOf({ destination_config }: ExportFacts): string {
  const config = destination_config ?? {};
  const keys = [
    'host',
    'endpoint_url',
    'account',
    'database',
    'bucket_name',
    'container',
    'schema',
  ];
  return [...keys, 'table_name', 'table_id', 'table', 'prefix']
    .map((key) => config[key])
    .filter((value) => typeof value === 'string' && value !== '')
    .join(' ');
}

type Counts = Record<
  | 'deliveries'
  | 'slices'
  | 'records'
  | 'verified_deliveries'
  | 'verified_records'
  | 'read_deliveries'
  | 'read_records',
  number
>;

/**
 * Counts deliveries of a period. A delivery with a seal counts if the latest check found it
 * unchanged. If a destination has no seals, all checked deliveries are compared by their contents.
 */
async function countVerified(
  db: Queryable,
  { id, revision, verified_through, verification, destination_type, write_rule }: ExportFacts,
  { after, before }: Statement['period'],
): Promise<Counts> {
  const definition = findDestination(destination_type);
  const is_sealed =
    definition?.seals !== undefined &&
    (write_rule?.mode !== 'merge' || verifyPartsOf(definition, write_rule) !== undefined);
  return (await db.row<Counts>(sql`
    WITH delivered AS (
      SELECT r.id, r.delivery_id, r.records_completed AS records,
        coalesce(s.is_whole, r.data_interval_end <= ${verified_through}::timestamptz
          AND r.finished_at < ${verification?.verified_at ?? null}::timestamptz, false) AS is_whole,
        CASE WHEN s.delivery_id IS NULL THEN NOT ${is_sealed} ELSE s.read_at IS NOT NULL END
          AS is_read
      FROM batch_export_runs r LEFT JOIN batch_export_seals s ON s.batch_export_id = ${id}
        AND s.delivery_id = r.delivery_id AND s.run_id = r.id
      WHERE r.batch_export_id = ${id} AND r.revision = ${revision} AND r.status = 'Completed'
        AND r.receipt IS NOT NULL AND r.records_completed > 0
        AND r.generation IS DISTINCT FROM 'replaced'
        AND (${after}::timestamptz IS NULL OR r.data_interval_end > ${after}::timestamptz)
        AND (${before}::timestamptz IS NULL OR r.data_interval_start < ${before}::timestamptz)
        AND NOT EXISTS (SELECT 1 FROM batch_export_runs newer
          WHERE newer.batch_export_id = ${id} AND newer.delivery_id = r.delivery_id
            AND newer.id <> newer.delivery_id AND newer.id <> r.id AND newer.status = 'Completed'
            AND newer.receipt IS NOT NULL
            AND (newer.finished_at, newer.created_at) > (r.finished_at, r.created_at))
    )
    SELECT count(*) AS deliveries, coalesce(sum(records), 0)::bigint AS records,
      (SELECT count(*) FROM batch_export_slices slice JOIN delivered d ON d.id = slice.run_id
        WHERE slice.outcome IS NOT NULL) AS slices,
      count(*) FILTER (WHERE is_whole) AS verified_deliveries,
      coalesce(sum(records) FILTER (WHERE is_whole), 0)::bigint AS verified_records,
      count(*) FILTER (WHERE is_whole AND is_read) AS read_deliveries,
      coalesce(sum(records) FILTER (WHERE is_whole AND is_read), 0)::bigint AS read_records
    FROM delivered`))!;
}

/** Returns the statement as text, with the key that signs its JSON form. */
export function statementText(statement: Statement, public_key: string): string {
  const { batch_export, destination, period, verified, read, findings } = statement;
  const times = [period.after ?? 'the first delivery', period.before ?? 'the newest delivery'];
  const told = findings.map((finding) => {
    const { state, detail, first_seen_at, resolved_at, accepted_by, accepted_reason } = finding;
    const end =
      state === 'accepted'
        ? ` Accepted by ${accepted_by} at ${finding.accepted_at}: ${accepted_reason}`
        : state === 'resolved'
          ? ` Found as delivered again at ${resolved_at}.`
          : ' Open.';
    return `- ${first_seen_at}: ${detail}${end}`;
  });
  const rows = (of: { deliveries: number; records: number }) =>
    `${counted(of.deliveries, 'delivery')} with ${counted(of.records, 'row')}`;
  const lines = [
    `Statement of ${statement.created_at}`,
    '',
    `Batch export ${JSON.stringify(batch_export.name)} (${batch_export.id}) of the project ` +
      JSON.stringify(batch_export.project),
    `Destination: ${destination.type} ${destination.place}`,
    `Period of the data intervals: ${times[0]} to ${times[1]}`,
    '',
    `Delivered: ${rows(statement)}, in ${counted(statement.slices, 'slice')}.`,
    `Found as delivered: ${rows(verified)}.`,
    `Of these, compared by their contents: ${rows(read)}. For the others, the destination was ` +
      'asked for counts and tags, which have not changed since Sluice first saw them.',
    `Verified through: ${statement.verified_through ?? 'nothing yet'}` +
      `, at ${statement.verification?.verified_at ?? 'no time'}.`,
    ...[statement.verification?.reason ?? []]
      .flat()
      .map((reason) => `Verification has stopped there: ${reason}`),
    '',
    findings.length === 0 ? 'No finding.' : `${counted(findings.length, 'finding')}:`,
    ...told,
    '',
    `The same statement as JSON is signed with the Ed25519 key ${public_key}.`,
  ];
  return `${lines.join('\n')}\n`;
}
