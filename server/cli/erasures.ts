import sql from 'sql-template-tag';
import { distinct_id_length_max } from '../api/erasures/schema.ts';
import { createErasure } from '../api/erasures/store.ts';
import { erasureEntry } from '../api/erasures/entry.ts';
import type { Deps } from '../deps.ts';
import { appendActivity, server_actor } from '../platform/activity/chain.ts';
import { UserError, WrongUsageError } from './user_error.ts';

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
 * What became of erasures, newest first, as text: how far those are that are under way, and of
 * those that are done the signed certificate.
 */
export async function listErasures({ db, secrets }: Pick<Deps, 'db' | 'secrets'>): Promise<string> {
  const rows = await db.rows<Row>(sql`
    SELECT id, team_id, kind, step, detail, created_at, certificate, signature
    FROM erasures ORDER BY created_at DESC, id DESC LIMIT 1000`);
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

/**
 * Asks for an erasure of persons, and says its id. Throws a `UserError` without such a project, and
 * for a distinct id that nobody can have, such as a variable that is not set.
 */
export async function erase(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  project: string,
  { distinctId: distinct_ids, anonymize }: { distinctId: string[]; anonymize?: boolean },
): Promise<string> {
  if (distinct_ids.some((id) => id === '' || id.length > distinct_id_length_max))
    throw new WrongUsageError(
      `--distinct-id takes ids of 1 to ${distinct_id_length_max} characters.`,
    );
  const team_id = /^\d{1,9}$/.test(project) ? Number(project) : 0;
  const id = await db.transaction(async (tx) => {
    const found = await tx.row<{ organization_id: string }>(
      sql`SELECT organization_id FROM projects WHERE id = ${team_id} FOR KEY SHARE`,
    );
    if (found === undefined) throw new UserError(`There is no project ${project}.`);
    const { organization_id } = found;
    const row = await createErasure(tx, secrets, {
      organization_id,
      team_id,
      criteria: { kind: 'persons', distinct_ids, person_ids: [] },
      late_events: anonymize === true ? 'anonymize' : 'refuse',
      created_by: null,
    });
    await appendActivity(tx, secrets, { organization_id }, server_actor, erasureEntry(row));
    return row.id;
  });
  return `Erasure ${id} is asked for; a running server works on it. See \`sluice erasures\`.`;
}
