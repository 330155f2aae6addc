import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { SecurityChanges, SecurityRow } from './schema.ts';

/**
 * SQL that is true if the address of user `u` is in a domain whose provider organization `o`
 * accepts.
 */
const is_vouched = sql`EXISTS (SELECT 1 FROM provider_reach r JOIN domains d ON d.id = r.domain_id
  WHERE r.organization_id = o.id AND d.state = 'verified'
    AND d.domain = split_part(comparable_address(u.email), '@', 2)
    AND (d.sso_enforcement <> '' OR NOT '' IN (coalesce(d.saml_entity_id, ''),
      coalesce(d.saml_acs_url, ''), coalesce(d.saml_x509_cert, ''))))`;
const active_members = sql`members m JOIN users u ON u.id = m.user_id AND u.is_active
  WHERE m.organization_id = o.id`;

/**
 * Reads the security settings. The caller holds the organization's lock if the settings must not
 * change.
 */
export async function readSecurity(db: Queryable, organization_id: string): Promise<SecurityRow> {
  const row = await db.row<SecurityRow>(sql`
    SELECT o.provider_is_second_factor, o.requires_sso, o.session_hours_max, o.idle_minutes_max,
      o.allowed_ip_ranges,
      ARRAY(SELECT d.domain FROM accepted_providers a JOIN domains d ON d.id = a.domain_id
        WHERE a.organization_id = o.id ORDER BY d.domain) AS accepted_providers,
      ARRAY(SELECT u.uuid FROM ${active_members} AND m.is_sso_exempt ORDER BY u.email)
        AS exempt_members,
      coalesce((SELECT json_agg(outsider) FROM (
        SELECT u.uuid, u.email, m.is_sso_exempt AS is_exempt FROM ${active_members}
          AND NOT ${is_vouched} ORDER BY u.email LIMIT 1000) outsider), '[]') AS outside_members
    FROM organizations o WHERE o.id = ${organization_id}::uuid`);
  if (row === undefined) throw new Error('An organization disappeared under its lock.');
  return row;
}

/** Applies the sent values of the organization's own columns. */
export async function updateSecurity(
  tx: Transaction,
  organization_id: string,
  { accepted_providers: _accepted, exempt_members: _exempt, ...columns }: SecurityChanges,
): Promise<void> {
  if (Object.keys(columns).length === 0) return;
  await tx.run(sql`UPDATE organizations SET ${assignments(columns)}, updated_at = now()
    WHERE id = ${organization_id}::uuid`);
}

/** Returns the verified domains of these names that belong to other organizations, by name. */
export async function findForeignDomains(
  tx: Transaction,
  organization_id: string,
  names: string[],
): Promise<Map<string, string>> {
  const rows = await tx.rows<{ id: string; domain: string }>(sql`SELECT id, domain FROM domains
    WHERE domain = ANY (${names}::text[]) AND state = 'verified'
      AND organization_id <> ${organization_id}::uuid`);
  return new Map(rows.map(({ id, domain }) => [domain, id]));
}

/** Sets the domains whose providers the organization accepts. */
export async function setAcceptedProviders(
  tx: Transaction,
  { organization_id, user_id }: { organization_id: string; user_id: number },
  domain_ids: string[],
  now_ms: number,
): Promise<void> {
  const organization = sql`${organization_id}::uuid`;
  await tx.run(sql`DELETE FROM accepted_providers WHERE organization_id = ${organization}
    AND domain_id <> ALL (${domain_ids}::uuid[])`);
  await tx.run(sql`INSERT INTO accepted_providers (organization_id, domain_id, created_by,
      created_at)
    SELECT ${organization}, id, ${user_id}, ${isoInstant(now_ms)}::timestamptz
    FROM unnest(${domain_ids}::uuid[]) AS id ON CONFLICT DO NOTHING`);
}

/** Finds the members among these users (uuid). */
export async function findMembers(
  tx: Transaction,
  organization_id: string,
  uuids: string[],
): Promise<Set<string>> {
  const rows = await tx.rows<{ uuid: string }>(sql`SELECT u.uuid FROM members m
    JOIN users u ON u.id = m.user_id WHERE m.organization_id = ${organization_id}::uuid
      AND u.uuid = ANY (${uuids}::uuid[])`);
  return new Set(rows.map(({ uuid }) => uuid));
}

/** Sets the members (uuid of the user) who are exempt from single sign-on. */
export async function setExemptMembers(
  tx: Transaction,
  organization_id: string,
  uuids: string[],
): Promise<void> {
  const is_named = sql`(u.uuid = ANY (${uuids}::uuid[]))`;
  await tx.run(sql`UPDATE members m SET is_sso_exempt = ${is_named}, updated_at = now() FROM users u
    WHERE u.id = m.user_id AND m.organization_id = ${organization_id}::uuid
      AND m.is_sso_exempt <> ${is_named}`);
}

/**
 * Returns why the organization is closed to the member, by `closed` (over `o` and `m`); null: it is
 * open.
 */
export async function findClosed(
  tx: Transaction,
  { organization_id, user_id }: { organization_id: string; user_id: number },
  closed: Sql,
): Promise<string | null> {
  const row = await tx.row<{ closed: string | null }>(sql`SELECT ${closed} AS closed
    FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.organization_id = ${organization_id}::uuid AND m.user_id = ${user_id}`);
  return row?.closed ?? null;
}
