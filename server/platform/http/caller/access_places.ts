import { raw } from 'sql-template-tag';
import type { Target } from './access.ts';
import { closedBecause } from './entrance.ts';
import { user_has_second_factor } from './second_factor.ts';

/** The kinds of places that a path names. */
export type Kind =
  | 'none'
  | 'organization'
  | 'organization @current'
  | 'project'
  | 'project @current';

/** Returns the kind of the target's place. */
export function kindOf(target: Target): Kind {
  if (target === undefined) return 'none';
  return target.id === '@current' ? `${target.within} @current` : target.within;
}

/** True if the user of credential `k` has a second factor and, for a session, showed it there. */
export const has_second_factor = `${user_has_second_factor} AND k.shows_second_factor`;
const closed = closedBecause({
  is_session: raw('k.is_session'),
  session_domain_id: raw('k.session_domain_id'),
  scoped_organizations: raw('k.scoped_organizations'),
  has_second_factor: raw(`(${has_second_factor})`),
  email: raw('u.email'),
}).sql;
const in_limits =
  '(k.scoped_organizations IS NULL OR m.organization_id = ANY (k.scoped_organizations))';
/**
 * Keeps rows of `m` (members) that the limits of credential `k` allow. A session outside its limits
 * gets a reason, because its person may show another factor.
 */
const organization_allowed = `m.user_id = k.user_id AND (k.is_session OR ${in_limits})`;
const of_membership = `m.organization_id, m.level, m.last_seen_at, ${closed} AS closed,
  o.allowed_ip_ranges AS organization_ip_ranges`;
const in_organization = `SELECT ${of_membership},
  NULL::integer AS team_id, NULL::text AS timezone FROM members m
  JOIN organizations o ON o.id = m.organization_id WHERE k.scoped_teams IS NULL
    AND ${organization_allowed}`;
const in_project = `SELECT ${of_membership}, p.id AS team_id, p.timezone
  FROM projects p JOIN members m ON m.organization_id = p.organization_id
  JOIN organizations o ON o.id = m.organization_id WHERE (k.scoped_teams IS NULL
    OR p.id = ANY (k.scoped_teams)) AND ${organization_allowed}`;

/**
 * Joins each kind of target beside credential `k`. The caller's oldest membership and its oldest
 * project are the current ones.
 */
export const targets: Record<Kind, string> = {
  none: '',
  organization: `${in_organization} AND m.organization_id = asked.id::uuid`,
  'organization @current': `${in_organization} AND ${in_limits}
    ORDER BY m.joined_at, m.id LIMIT 1`,
  project: `${in_project} AND p.id = asked.id::integer`,
  'project @current': `${in_project} AND ${in_limits}
    ORDER BY m.joined_at, m.id, p.created_at, p.id LIMIT 1`,
};

const of_place = `o.id AS organization_id, k.level, NULL::timestamptz AS last_seen_at,
  NULL::text AS closed, o.allowed_ip_ranges AS organization_ip_ranges`;
const of_key_organization = `SELECT ${of_place}, NULL::integer AS team_id, NULL::text AS timezone
  FROM organizations o WHERE o.id = k.organization_id AND k.scoped_teams IS NULL`;
const of_key_project = `SELECT ${of_place}, p.id AS team_id, p.timezone
  FROM projects p JOIN organizations o ON o.id = p.organization_id
  WHERE p.organization_id = k.organization_id
    AND (k.scoped_teams IS NULL OR p.id = ANY (k.scoped_teams))`;

/**
 * The same as `targets` for a service key: it needs no membership, so rules about how people sign
 * in do not apply.
 */
export const targets_of_service: Record<Kind, string> = {
  none: '',
  organization: `${of_key_organization} AND o.id = asked.id::uuid`,
  'organization @current': of_key_organization,
  project: `${of_key_project} AND p.id = asked.id::integer`,
  'project @current': `${of_key_project} ORDER BY p.created_at, p.id LIMIT 1`,
};
