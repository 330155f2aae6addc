import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

/**
 * One place in the API for records of projects: the URL of their list, and what its first parameter
 * names.
 */
export type Mount = { base: string; within: 'organization' | 'project' };

/** Returns both places of such records: an organization lists those of all its projects. */
export const mountsOf = (noun: string): readonly Mount[] => [
  { base: `/api/organizations/:organization_id/${noun}/`, within: 'organization' },
  { base: `/api/projects/:project_id/${noun}/`, within: 'project' },
];

/** The reach of a request's records: a project, or a whole organization. */
export type Place = { organization_id: string; team_id?: number };

/** Returns the condition that the project of a record, given as its column, lies in the place. */
export const liesIn = ({ organization_id, team_id }: Place, column: Sql): Sql =>
  team_id === undefined
    ? sql`${column} IN (SELECT p.id FROM projects p
        WHERE p.organization_id = ${organization_id}::uuid)`
    : sql`${column} = ${team_id}`;
