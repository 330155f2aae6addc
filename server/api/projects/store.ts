import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isPerson } from '../../platform/http/caller/access.ts';
import type { Caller, RecordPlace } from '../../platform/http/caller/access.ts';
import { createWriteKey } from '../../platform/http/caller/write_key.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { isOpenTo } from '../../platform/http/caller/entrance.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import type { ProjectChanges, ProjectRow } from './schema.ts';

const columns = sql`p.id, p.uuid, p.organization_id AS organization, p.name, p.api_token,
  p.timezone, p.robot_events, p.internal_events, p.internal_addresses,
  p.unplanned_events, p.fill_device_properties, p.retention, p.retention_days,
  p.created_at, p.updated_at, ${managedBy('project', sql`p.id`)} AS managed_by`;

/**
 * SQL for the source of `m`, the caller's organizations and levels: memberships, or the service key
 * itself.
 */
export const placesOf = (caller: Caller): Sql =>
  isPerson(caller) ? sql`members` : sql`service_keys`;

/**
 * SQL that is true if the caller reaches `m` and their key is not limited to other organizations.
 */
export const isReached = (caller: Caller): Sql =>
  isPerson(caller)
    ? sql`m.user_id = ${caller.user_id} AND (${caller.scoped_organizations}::uuid[] IS NULL
        OR m.organization_id = ANY (${caller.scoped_organizations}::uuid[]))
      AND ${isOpenTo(caller)}`
    : sql`m.id = ${caller.key_id}::uuid`;
const visible = (caller: Caller) => sql`
  ${isReached(caller)} AND (${caller.scoped_teams}::integer[] IS NULL
    OR p.id = ANY (${caller.scoped_teams}::integer[]))`;

/**
 * Lists the projects that the caller may read, in all organizations or in one, oldest first (ties
 * by id).
 */
export function listProjects(caller: Caller, organization_id?: string): List {
  const of_one =
    organization_id === undefined ? empty : sql`AND p.organization_id = ${organization_id}::uuid`;
  const seen = sql`FROM projects p JOIN ${placesOf(caller)} m
    ON m.organization_id = p.organization_id
    WHERE ${visible(caller)} ${of_one}`;
  return {
    rows: (page) => sql`SELECT ${columns} ${seen} ORDER BY p.created_at, p.id
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count ${seen}`,
  };
}

/** Lists all projects of an organization, oldest first. */
export function listProjectsOf(db: Queryable, organization_id: string): Promise<ProjectRow[]> {
  return db.rows(sql`SELECT ${columns} FROM projects p
    WHERE p.organization_id = ${organization_id}::uuid ORDER BY p.created_at, p.id`);
}

/** Selects the project of the place. */
export function selectProject({ team_id }: Pick<RecordPlace, 'team_id'>): Sql {
  return sql`SELECT ${columns} FROM projects p WHERE p.id = ${team_id}`;
}

/**
 * Returns the project; with `lock`, nobody else can change or delete it until the transaction ends.
 */
export function findProject(
  db: Queryable,
  id: number,
  lock?: 'lock',
): Promise<ProjectRow | undefined> {
  const selected = selectProject({ team_id: sql`${id}::integer` });
  return db.row<ProjectRow>(sql`${selected} ${locking(lock, 'FOR UPDATE')}`);
}

/**
 * Returns the organization of a caller's new project: the named one, or else the oldest in which
 * their level is 8 or more, or else their oldest. Undefined if they may read none. With `lock`,
 * nobody can delete the organization or the membership until the transaction ends.
 */
export function findHome(
  db: Queryable,
  caller: Caller,
  organization: string | undefined,
  lock?: 'lock',
): Promise<{ organization_id: string; level: number } | undefined> {
  return db.row(sql`
    SELECT m.organization_id, m.level FROM ${placesOf(caller)} m JOIN organizations o
      ON o.id = m.organization_id
    WHERE ${isReached(caller)}
      ${
        organization === undefined
          ? empty
          : sql`AND m.organization_id
      = ${organization}::uuid`
      }
    ORDER BY m.level < 8, ${isPerson(caller) ? sql`m.joined_at` : sql`m.created_at`}, m.id
    LIMIT 1 ${locking(lock, 'FOR SHARE OF o, m')}`);
}

/** Creates a project with a new public token. */
export async function insertProject(
  tx: Transaction,
  fields: { organization_id: string; name: string; timezone: string },
): Promise<ProjectRow> {
  const [row] = await tx.rows<ProjectRow>(sql`
    INSERT INTO projects AS p (uuid, organization_id, name, api_token, timezone)
    VALUES (${uuidv7()}, ${fields.organization_id}, ${fields.name}, ${createWriteKey()},
      ${fields.timezone}) RETURNING ${columns}`);
  return row!;
}

/**
 * Applies the sent fields; without one, `updated_at` stays unchanged. The caller holds the lock.
 */
export async function updateProject(
  tx: Transaction,
  id: number,
  changes: ProjectChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await tx.run(
    sql`UPDATE projects SET ${assignments(changes)}, updated_at = now() WHERE id = ${id}`,
  );
}

/**
 * Deletes the project and by cascade its exports. A worker with one of its runs finds the run's row
 * missing, cleans up at the destination and stops.
 */
export async function deleteProject(tx: Transaction, id: number): Promise<void> {
  await tx.run(sql`DELETE FROM projects WHERE id = ${id}`);
}
