import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';

/** The smallest body that creates an export. */
export const noop_export = {
  name: 'Nightly',
  destination: { type: 'NoOp', config: {} },
  interval: 'hour',
};

/** The URL of the list of a project's exports. */
export const projectBase = (home: TestOrganization) =>
  `/api/projects/${home.project.id}/batch_exports/`;

/** The URL of the list of an organization's exports. */
export const organizationBase = (home: TestOrganization) =>
  `/api/organizations/${home.organization.id}/batch_exports/`;

/** Returns the violations of a 400: `attr code` of each, in alphabetical order. */
export const attrsOf = (answer: Answer): string[] =>
  answer.body.errors
    .map((one: { attr: string; code: string }) => `${one.attr} ${one.code}`)
    .toSorted();

/** Creates an export through the API and returns its body. */
export async function newExport(home: TestOrganization, body: Record<string, unknown> = {}) {
  const created = await home.ask('POST', projectBase(home), { ...noop_export, ...body });
  assert.equal(created.status, 201, created.text);
  return created.body;
}

/** The fields of a run without a worker, as a test sets them. */
export type RunWanted = {
  status?: string;
  hour?: number;
  revision?: number;
  selection?: object[];
  committing?: boolean;
  total?: number;
  delivery_id?: string;
  is_make_up?: boolean;
  backfill_id?: string;
  failures?: number;
  /** No worker claims it earlier. */
  due_at?: string;
  /** True if it rewrites a delivery after an erasure. */
  replaces?: true;
};

/**
 * Adds a run row of one hour of 1 January 2026, as planner and worker would leave it, and returns
 * its id.
 */
export async function insertRunRow(
  harness: Harness,
  exportId: string,
  wanted: RunWanted = {},
): Promise<string> {
  const from = Date.parse('2026-01-01T00:00:00Z') + (wanted.hour ?? 0) * 3_600_000;
  const to = from + 3_600_000;
  const selection = wanted.selection ?? [
    { event_from: null, event_to: null, inserted_from: from, inserted_to: to },
  ];
  const isOver = wanted.status !== undefined && !['Starting', 'Running'].includes(wanted.status);
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, is_make_up,
      status, data_interval_start, data_interval_end, selection, created_at, finished_at,
      committing_at, records_total_count, records_completed, backfill_id, failures, replaces,
      due_at)
    SELECT id, ${exportId}, (SELECT team_id FROM batch_exports
      WHERE id = ${exportId}), ${wanted.revision ?? 1},
      coalesce(${wanted.delivery_id ?? null}::uuid, id), ${wanted.is_make_up ?? false},
      ${wanted.status ?? 'Starting'}, ${new Date(from).toISOString()},
      ${new Date(to).toISOString()}, ${JSON.stringify(selection)},
      clock_timestamp(), CASE WHEN ${isOver} THEN now() END, CASE
        WHEN ${wanted.committing ?? false} THEN now() END, ${wanted.total ?? null},
        ${wanted.total ?? null}, ${wanted.backfill_id ?? null}::uuid, ${wanted.failures ?? 0},
        ${wanted.replaces === true ? '{}' : null}::jsonb,
        coalesce(${wanted.due_at ?? null}::timestamptz, now())
    FROM gen_random_uuid() id RETURNING id`);
  return row!.id;
}
