import sql from 'sql-template-tag';
import type { Deps } from '../deps.ts';

type Row = {
  team_id: number;
  project_name: string;
  requested_at: string;
  claimed_at: string | null;
  events: number | null;
  persons: number | null;
  certificate: string | null;
  signature: string | null;
};

/**
 * What became of the rows of deleted projects, newest first, as text: those that are still removed
 * with what was found, those that are done with their signed certificate.
 */
export async function listRemovals({ db, secrets }: Pick<Deps, 'db' | 'secrets'>): Promise<string> {
  const rows = await db.rows<Row>(sql`
    SELECT team_id, project_name, requested_at, claimed_at, events, persons, certificate, signature
    FROM removals ORDER BY requested_at DESC, team_id DESC LIMIT 1000`);
  if (rows.length === 0) return 'No project was deleted.';
  return [
    ...rows.map(tell),
    '',
    `Signatures are Ed25519 over the certificate's text; public key ${secrets.public_key}`,
  ].join('\n');
}

function tell({ team_id, project_name, requested_at, ...row }: Row): string {
  if (row.certificate !== null)
    return `removed   ${row.certificate}\n          signature ${row.signature}`;
  const state =
    row.claimed_at === null
      ? 'waits until what was on its way in has arrived'
      : `under way: ${row.events ?? 0} events, ${row.persons ?? 0} versions of persons`;
  return `removing  project ${team_id} "${project_name}", deleted ${requested_at}, ${state}`;
}
