import sql from 'sql-template-tag';
import { erasureEntry } from '../api/erasures/entry.ts';
import { distinct_id_length_max } from '../api/erasures/schema.ts';
import { createErasure } from '../api/erasures/store.ts';
import type { Deps } from '../deps.ts';
import { countRows } from '../engine/privacy/erasures/count_rows.ts';
import type { ErasureSize } from '../engine/privacy/erasures/count_rows.ts';
import type { Criteria } from '../engine/privacy/erasures/criteria.ts';
import { row_tables } from '../engine/model/removals/delete_rows.ts';
import { appendActivity, server_actor } from '../platform/activity/chain.ts';
import { caughtUp } from '../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../platform/counted.ts';
import { isAgreed } from './agreed.ts';
import type { CommandContext } from './command_context.ts';
import { withProcess } from './process/with_process.ts';
import { oneLine } from './shown_text.ts';
import { UserError, WrongUsageError } from './user_error.ts';

const exports_shown_max = 20;

type Row = {
  id: string;
  team_id: number;
  kind: string;
  step: string;
  detail: string | null;
  created_at: string;
  certificate: string | null;
  signature: string | null;
};

/**
 * Returns erasures as text, newest first: progress of running ones, and signed certificates of
 * finished ones.
 */
export async function listErasures(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  { json = false }: { json?: boolean } = {},
): Promise<string> {
  const rows = await db.rows<Row>(sql`
    SELECT id, team_id, kind, step, detail, created_at, certificate, signature
    FROM erasures ORDER BY created_at DESC, id DESC LIMIT 1000`);
  if (json) return JSON.stringify({ public_key: secrets.public_key, erasures: rows });
  if (rows.length === 0) return 'Nothing was erased.';
  return [
    ...rows.map(tell),
    '',
    `Signatures are Ed25519 over the certificate's text; public key ${secrets.public_key}`,
  ].join('\n');
}

function tell({ id, team_id, kind, step, detail, created_at, ...row }: Row): string {
  if (row.certificate !== null)
    return `erased   ${row.certificate}\n         signature ${row.signature}`;
  const now = detail === null ? '' : ` ${detail}`;
  return `erasing  ${id}: ${kind} of project ${team_id}, asked ${created_at}, step ${step}.${now}`;
}

/** The options of `sluice erase` on the command line. */
type EraseFlags = { distinctId: string[]; anonymize?: boolean; yes?: boolean };

/**
 * `sluice erase`: shows the extent of an erasure of these persons, asks, and requests it from the
 * server. Exit code 1 if the person declines: nothing was changed then.
 */
export function eraseCommand(
  context: CommandContext,
  project: string,
  flags: EraseFlags,
): Promise<number> {
  const wanted = () => isAgreed('Erase these persons?', 'erases them');
  return withProcess(context, ({ deps }) =>
    erase(deps, project, flags, context.say, flags.yes === true ? async () => true : wanted),
  );
}

/**
 * Shows the extent of an erasure of persons, and requests it if `isWanted` agrees. Returns the exit
 * code. Throws a `UserError` if the project does not exist, and for an invalid distinct id, such as
 * an unset variable.
 */
export async function erase(
  { db, clickhouse, secrets }: Pick<Deps, 'db' | 'clickhouse' | 'secrets'>,
  project: string,
  { distinctId: distinct_ids, anonymize }: EraseFlags,
  say: (line: string) => void,
  isWanted: () => Promise<boolean>,
): Promise<number> {
  if (distinct_ids.some((id) => id === '' || id.length > distinct_id_length_max))
    throw new WrongUsageError(
      `--distinct-id takes ids of 1 to ${distinct_id_length_max} characters.`,
    );
  const team_id = /^\d{1,9}$/.test(project) ? Number(project) : 0;
  const found = await db.row<{ name: string }>(
    sql`SELECT name FROM projects WHERE id = ${team_id}`,
  );
  if (found === undefined) throw new UserError(`There is no project ${project}.`);
  const criteria: Criteria = { kind: 'persons', distinct_ids, person_ids: [] };
  const size = await caughtUp(clickhouse, row_tables, () =>
    countRows({ db, clickhouse }, team_id, criteria, new AbortController().signal),
  );
  const exports = await db.rows<DeliveringExport>(deliveringExports(team_id));
  say(tellSize(`project ${team_id} "${oneLine(found.name)}"`, size));
  say(tellExports(exports));
  if (!(await isWanted())) return 1;
  const id = await db.transaction(async (tx) => {
    const organization = await tx.row<{ organization_id: string }>(
      sql`SELECT organization_id FROM projects WHERE id = ${team_id} FOR KEY SHARE`,
    );
    if (organization === undefined) throw new UserError(`There is no project ${project}.`);
    const { organization_id } = organization;
    const row = await createErasure(tx, secrets, {
      organization_id,
      team_id,
      criteria,
      late_events: anonymize === true ? 'anonymize' : 'refuse',
      created_by: null,
    });
    await appendActivity(tx, secrets, { organization_id }, server_actor, erasureEntry(row));
    return row.id;
  });
  say(`Erasure ${id} is requested; a running server works on it. See \`sluice erasures\`.`);
  return 0;
}

type DeliveringExport = { name: string; destination_type: string };

/** Deleted exports count too, because their deliveries still exist. */
const deliveringExports = (team_id: number) => sql`
  SELECT name, destination_type FROM batch_exports export
  WHERE team_id = ${team_id} AND destination_type <> 'NoOp' AND EXISTS (
    SELECT 1 FROM batch_export_runs run WHERE run.batch_export_id = export.id
      AND run.status NOT IN ('Starting', 'Running') AND 
        coalesce(run.records_completed, 1) + run.records_rejected > 0)
  ORDER BY name, id LIMIT ${exports_shown_max + 1}`;

function tellSize(project: string, size: ErasureSize): string {
  const { distinct_ids, events, person_versions, refused_events } = size;
  const refused =
    refused_events === 0
      ? ''
      : ` Sluice also deletes ${counted(refused_events, 'refused event')} of the project, ` +
        'because any may be of these persons.';
  return (
    `It concerns ${counted(distinct_ids, 'distinct id')}, ${counted(events, 'event')} and ` +
    `${counted(person_versions, 'version')} of persons of ${project}. They are removed from ` +
    `the store, and from deliveries that can be rewritten.${refused} This cannot be undone.`
  );
}

function tellExports(exports: DeliveringExport[]): string {
  if (exports.length === 0) return 'No export of the project has delivered anything.';
  const names = exports
    .slice(0, exports_shown_max)
    .map(({ name, destination_type }) => `"${oneLine(name)}" (${destination_type})`);
  const more = exports.length > exports_shown_max ? ' and others' : '';
  return `Exports that may have delivered some of these rows: ${names.join(', ')}${more}.`;
}
