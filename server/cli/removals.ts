import sql from 'sql-template-tag';
import type { Deps } from '../deps.ts';
import { counted } from '../platform/counted.ts';
import { oneLine } from './shown_text.ts';

type Erased = {
  team_id: number;
  project_name: string;
  requested_at: string;
  claimed_at: string | null;
  events: number | null;
  persons: number | null;
  parts_left: number | null;
  removed_at: string | null;
  runs_left: number;
  certificate: string | null;
  signature: string | null;
};

type Deleted = {
  id: string;
  kind: string;
  requested_at: string;
  certificate: string | null;
  signature: string | null;
};

type Retained = {
  team_id: number;
  project_name: string;
  retention: string;
  removed_before: string;
  events: number | null;
  persons: number | null;
  started_at: string;
  ended_at: string | null;
};

const shown_max = 1_000;

/**
 * Returns removals of projects' rows as text. First deleted projects, newest first: unfinished
 * removals with the rows found and left, finished ones with their signed certificate. Then deleted
 * users and organizations, and removals by retention.
 */
export async function listRemovals(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  { json = false }: { json?: boolean } = {},
): Promise<string> {
  const erased = await db.rows<Erased>(sql`
    SELECT team_id, project_name, requested_at, claimed_at, events, persons, parts_left, removed_at,
      certificate, signature, (SELECT count(*) FROM batch_export_runs run
        JOIN batch_exports export ON export.id = run.batch_export_id
        WHERE export.deleted_team_id = removals.team_id)::integer AS runs_left
    FROM removals ORDER BY requested_at DESC, team_id DESC LIMIT ${shown_max}`);
  const deleted = await db.rows<Deleted>(sql`
    SELECT id, kind, requested_at, certificate, signature FROM deletions
    ORDER BY requested_at DESC, id DESC LIMIT ${shown_max}`);
  const retained = await db.rows<Retained>(sql`
    SELECT r.team_id, p.name AS project_name, r.retention, r.removed_before, r.events, r.persons,
      r.started_at, r.ended_at
    FROM retention_removals r JOIN projects p ON p.id = r.team_id
    ORDER BY r.started_at DESC, r.id DESC LIMIT ${shown_max}`);
  if (json)
    return JSON.stringify({ public_key: secrets.public_key, projects: erased, deleted, retained });
  return [
    ...(erased.length === 0 ? ['No project was deleted.'] : erased.map(tellErased)),
    ...deleted.map(tellDeleted),
    ...(erased.length + deleted.length === 0
      ? []
      : [
          '',
          `Signatures are Ed25519 over the certificate's text; public key ${secrets.public_key}`,
        ]),
    ...(retained.length === 0 ? [] : ['', ...retained.map(tellRetained)]),
  ].join('\n');
}

function tellErased({ team_id, project_name, requested_at, ...row }: Erased): string {
  if (row.certificate !== null)
    return `removed   ${row.certificate}\n          signature ${row.signature}`;
  const persons = counted(row.persons ?? 0, 'person version');
  const found = `${counted(row.events ?? 0, 'event')}, ${persons}`;
  const parts =
    row.parts_left === null ? '' : `, ${counted(row.parts_left, 'part')} of the store left`;
  const runs = row.runs_left === 0 ? '' : `; ${counted(row.runs_left, 'run')} of its exports left`;
  const state =
    row.removed_at !== null
      ? `gone: ${found}; the store keeps its former files for some minutes`
      : row.events === null
        ? 'waits for events that are still being ingested'
        : `under way: ${found}${parts}`;
  const project = `project ${team_id} "${oneLine(project_name)}"`;
  return `removing  ${project}, deleted ${requested_at}, ${state}${runs}`;
}

function tellDeleted({ id, kind, requested_at, certificate, signature }: Deleted): string {
  return certificate === null
    ? `removing  ${kind} ${id}, deleted ${requested_at}`
    : `removed   ${certificate}\n          signature ${signature}`;
}

function tellRetained(row: Retained): string {
  const { team_id, project_name, events, persons, ended_at } = row;
  const what =
    events === null
      ? 'not counted yet'
      : `${counted(events, 'event')}, ${counted(persons ?? 0, 'replaced person version')}`;
  return (
    `${ended_at === null ? 'removing' : 'removed '}  by retention (${row.retention}) of project ` +
    `${team_id} "${oneLine(project_name)}": ${what}, ingested before ${row.removed_before}; ` +
    (ended_at === null ? `decided ${row.started_at}` : `ended ${ended_at}`)
  );
}
