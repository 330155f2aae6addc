import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { ownFactorRequired, secondFactorRequired, ssoRequired } from '../errors.ts';
import type { ApiError } from '../errors.ts';
import type { Caller } from './access.ts';

/** Why an organization is closed to one of its members, as the code of the refusal. */
export type Closed = 'own_factor_required' | 'second_factor_required' | 'sso_enforced';

/** The facts about a credential that the entrance needs, each as a SQL expression. */
type Shown = Record<
  'is_session' | 'session_domain_id' | 'scoped_organizations' | 'has_second_factor' | 'email',
  Sql
>;

/**
 * Returns why organization `o` is closed to the credential's owner, with their membership `m`;
 * null: it is open. A session that a provider opened reaches the organizations that accept the
 * provider. An organization that requires a second factor may trust the provider's, and one that
 * requires single sign-on exempts members by name.
 */
export function closedBecause(shown: Shown): Sql {
  const { is_session, session_domain_id, scoped_organizations, has_second_factor, email } = shown;
  const is_vouched = sql`CASE WHEN ${is_session}
    THEN EXISTS (SELECT 1 FROM provider_reach r WHERE r.domain_id = ${session_domain_id}
      AND r.organization_id = o.id)
    ELSE EXISTS (SELECT 1 FROM provider_reach r JOIN domains d ON d.id = r.domain_id
      WHERE r.organization_id = o.id AND d.state = 'verified' AND d.sso_enforcement <> ''
        AND d.domain = split_part(comparable_address(${email}), '@', 2)) END`;
  const lacks_factor = sql`o.enforce_2fa AND NOT ${has_second_factor}`;
  const needs_provider = sql`o.requires_sso AND NOT m.is_sso_exempt`;
  // Each look at another table costs every request, so the provider is looked at in one place.
  return sql`CASE
    WHEN ${is_session} AND ${scoped_organizations} IS NOT NULL
      AND m.organization_id <> ALL (${scoped_organizations}) THEN 'own_factor_required'
    WHEN ${lacks_factor} AND NOT o.provider_is_second_factor THEN 'second_factor_required'
    WHEN o.enforce_2fa AND o.provider_is_second_factor OR ${needs_provider} THEN CASE
      WHEN ${is_vouched} THEN NULL
      WHEN ${lacks_factor} THEN 'second_factor_required'
      WHEN ${needs_provider} THEN 'sso_enforced' END END`;
}

/** Returns the same for the caller of a request who was found before. */
export function closedTo(caller: Caller): Sql {
  return closedBecause({
    is_session: raw(caller.session_id === null ? 'false' : 'true'),
    session_domain_id: sql`${caller.session_domain_id}::uuid`,
    scoped_organizations: sql`${caller.scoped_organizations}::uuid[]`,
    has_second_factor: raw(caller.has_second_factor ? 'true' : 'false'),
    email: sql`${caller.email}::text`,
  });
}

/** Returns a condition on memberships `m` in organizations that are open to the caller. */
export function isOpenTo(caller: Caller): Sql {
  return sql`NOT EXISTS (SELECT 1 FROM organizations o WHERE o.id = m.organization_id
    AND ${closedTo(caller)} IS NOT NULL)`;
}

const refusals: Record<Closed, () => ApiError> = {
  own_factor_required: ownFactorRequired,
  second_factor_required: secondFactorRequired,
  sso_enforced: ssoRequired,
};

/** Throws 403 with the person's next step if the organization is closed to them. */
export function refuseClosed(closed: string | null): void {
  if (closed !== null) throw refusals[closed as Closed]();
}
