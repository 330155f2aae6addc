import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Database } from '../postgres/database.ts';

/** Who asks, as the key says. */
export type Caller = {
  user_id: number;
  user_uuid: string;
  email: string;
  key_id: string;
  scopes: string[];
  /** Only these organizations may be seen with the key; null: all of the user's. */
  scoped_organizations: string[] | null;
  /** Only these projects, and nothing of their organizations beside them, may be seen with the key; null: no such limit. */
  scoped_teams: number[] | null;
};

/** What the path leads into: the organization, the caller's level there, and the project when the path names one. */
export type Access = { organization_id: string; level: 1 | 8 | 15; team_id?: number; timezone?: string };

/** What kind of thing a route lies in. */
export type Within = 'organization' | 'project';

/** The thing that one request's path names; undefined when the name cannot be one (then nothing is looked up). */
export type Target = { within: Within; id: string } | undefined;

/** One row of the look-up: the key, its user and, when the user may be there, the target. */
export type Found = Caller & { last_used_at: string | null; organization_id: string | null; level: 1 | 8 | 15 | null; team_id: number | null; timezone: string | null };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const integer_max = 2_147_483_647;

/** True for text that PostgreSQL takes as a UUID in the usual spelling. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** The positive 32-bit integer that the text spells, or undefined. */
export function integerId(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= integer_max ? id : undefined;
}

/** What a path's parameter names: a UUID for organizations, an integer for projects, or `@current`. */
export function targetOf(within: Within | undefined, name: string): Target {
  if (within === undefined) return undefined;
  const possible = name === '@current' || (within === 'organization' ? isUuid(name) : integerId(name) !== undefined);
  return possible ? { within, id: name } : undefined;
}

/**
 * Looks up key, user, membership and target in one statement. Undefined: no such key, or it has expired, or its user is not active. The target's columns are
 * null when it does not exist, the user is not a member of its organization, or the key is limited to others; the three cannot be told apart.
 * Leans on the unique indexes of key_hash and members (user_id, organization_id).
 */
export async function findAccess(db: Database, key_hash: Buffer, target: Target, now: string): Promise<Found | undefined> {
  return db.row<Found>(sql`
    SELECT k.id AS key_id, k.scopes, k.scoped_organizations, k.scoped_teams, k.last_used_at,
      u.id AS user_id, u.uuid AS user_uuid, u.email${target === undefined ? empty : sql`, target.organization_id, target.level, target.team_id, target.timezone`}
    FROM personal_api_keys k JOIN users u ON u.id = k.user_id AND u.is_active
    ${targetSql(target)}
    WHERE k.key_hash = ${key_hash} AND (k.expires_at IS NULL OR k.expires_at > ${now}::timestamptz)`);
}

/** Keeps rows of `m` (members) that the key `k` is not limited away from. */
const organization_allowed = sql`(k.scoped_organizations IS NULL OR m.organization_id = ANY (k.scoped_organizations))`;

function targetSql(target: Target): Sql {
  if (target === undefined) return empty;
  const current = target.id === '@current';
  if (target.within === 'organization') {
    // the caller's oldest membership is the current one
    return sql`LEFT JOIN LATERAL (
      SELECT m.organization_id, m.level, NULL::integer AS team_id, NULL::text AS timezone FROM members m
      WHERE m.user_id = k.user_id AND k.scoped_teams IS NULL AND ${organization_allowed}
      ${current ? sql`ORDER BY m.joined_at, m.id LIMIT 1` : sql`AND m.organization_id = ${target.id}::uuid`}) target ON true`;
  }
  return sql`LEFT JOIN LATERAL (
    SELECT m.organization_id, m.level, p.id AS team_id, p.timezone FROM projects p JOIN members m ON m.organization_id = p.organization_id
    WHERE m.user_id = k.user_id AND (k.scoped_teams IS NULL OR p.id = ANY (k.scoped_teams)) AND ${organization_allowed}
    ${current ? sql`ORDER BY m.joined_at, m.id, p.created_at, p.id LIMIT 1` : sql`AND p.id = ${Number(target.id)}`}) target ON true`;
}
