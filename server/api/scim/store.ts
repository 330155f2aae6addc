import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { isLive } from './tokens/live.ts';
import type { DirectoryRow, GroupRow } from './schema.ts';

const groups_shown = 1_000;

/** A domain with the organization whose people its directory manages. */
export type DomainPlace = {
  domain_id: string;
  domain: string;
  organization: { id: string; name: string };
};

/** Switches the directory on; returns false if it was on. */
export async function insertDirectory(tx: Transaction, domain_id: string): Promise<boolean> {
  const inserted = await tx.run(sql`INSERT INTO scim_directories (domain_id)
    VALUES (${domain_id}::uuid) ON CONFLICT (domain_id) DO NOTHING`);
  return inserted === 1;
}

/** Returns the organization of a domain. */
export async function findHome(db: Queryable, domain_id: string): Promise<string | undefined> {
  const row = await db.row<{ organization_id: string }>(
    sql`SELECT organization_id FROM domains WHERE id = ${domain_id}::uuid`,
  );
  return row?.organization_id;
}

/** Sets whether the directory manages owners. The caller holds the lock of the domain. */
export async function setMayManageOwners(
  tx: Transaction,
  domain_id: string,
  may_manage_owners: boolean,
): Promise<void> {
  await tx.run(sql`UPDATE scim_directories SET may_manage_owners = ${may_manage_owners}
    WHERE domain_id = ${domain_id}::uuid`);
}

/** Switches the directory off and deletes its data; returns false if it was off. */
export async function deleteDirectory(tx: Transaction, domain_id: string): Promise<boolean> {
  const deleted = await tx.run(
    sql`DELETE FROM scim_directories WHERE domain_id = ${domain_id}::uuid`,
  );
  return deleted === 1;
}

/**
 * Selects the people whom the directory sees: members with an address in its domain, members whom
 * it managed before they took another address, and people whom it has deactivated. A person without
 * `member_id` is deactivated.
 */
export function peopleOf({ domain_id, domain, organization }: DomainPlace): Sql {
  const at = `@${domain}`;
  const is_in_domain = sql`right(comparable_address(u.email), ${at.length}) = ${at}`;
  const common = sql`u.id AS user_id, u.uuid, u.email, u.first_name, u.last_name,
    u.is_active AS is_account_active, u.created_at, ${is_in_domain} AS is_in_domain,
    s.user_id IS NOT NULL AS is_in_hand, s.external_id, s.user_name, s.deactivated_level,
    coalesce(s.was_owner, false) AS was_owner`;
  return sql`(
    SELECT ${common}, m.id AS member_id, m.level,
      greatest(u.updated_at, m.updated_at, s.updated_at) AS updated_at
    FROM members m JOIN users u ON u.id = m.user_id
      LEFT JOIN scim_users s ON s.user_id = u.id AND s.domain_id = ${domain_id}::uuid
    WHERE m.organization_id = ${organization.id}::uuid
      AND (s.user_id IS NOT NULL OR ${is_in_domain})
    UNION ALL
    SELECT ${common}, NULL::uuid, NULL::smallint, greatest(u.updated_at, s.updated_at)
    FROM scim_users s JOIN users u ON u.id = s.user_id
    WHERE s.domain_id = ${domain_id}::uuid AND s.deactivated_level IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = u.id
        AND m.organization_id = ${organization.id}::uuid))`;
}

const group_columns = sql`g.id, g.display_name, g.level,
  (SELECT count(*)::integer FROM scim_group_members gm WHERE gm.group_id = g.id) AS member_count`;

/** Reads the state and activity of a domain's directory. */
export async function readDirectory(
  db: Queryable,
  place: DomainPlace,
  base_url: string,
  now_ms: number,
): Promise<DirectoryRow> {
  const people = peopleOf(place);
  const groups = await db.rows<GroupRow>(sql`SELECT ${group_columns} FROM scim_groups g
    WHERE g.domain_id = ${place.domain_id}::uuid ORDER BY lower(g.display_name), g.id
    LIMIT ${groups_shown}`);
  const row = await db.row<Omit<DirectoryRow, 'base_url' | 'groups'>>(sql`
    SELECT s.domain_id IS NOT NULL AS is_on, coalesce(s.may_manage_owners, false)
      AS may_manage_owners, s.last_used_at, (SELECT count(*)::integer FROM scim_tokens t
        WHERE t.domain_id = s.domain_id AND ${isLive(sql`${place.organization.id}::uuid`, now_ms)})
      AS token_count, seen.active_people, seen.deactivated_people, (SELECT count(*)::integer
        FROM scim_groups WHERE domain_id = ${place.domain_id}::uuid) AS group_count
    FROM (SELECT count(*) FILTER (WHERE member_id IS NOT NULL)::integer AS active_people,
        count(*) FILTER (WHERE member_id IS NULL)::integer AS deactivated_people
        FROM ${people} p) seen
      LEFT JOIN scim_directories s ON s.domain_id = ${place.domain_id}::uuid`);
  const { is_on, ...more } = row!;
  return { is_on, base_url, ...more, groups };
}

/**
 * Returns the group of the domain's directory; with `lock`, it cannot be deleted until the
 * transaction ends.
 */
export function findGroupRow(
  db: Queryable,
  domain_id: string,
  id: string,
  lock?: 'lock',
): Promise<GroupRow | undefined> {
  return db.row<GroupRow>(sql`SELECT ${group_columns} FROM scim_groups g
    WHERE g.domain_id = ${domain_id}::uuid AND g.id = ${id}::uuid
    ${locking(lock, 'FOR UPDATE OF g')}`);
}

/** Sets the minimum level of the group's people. The caller holds its lock. */
export async function setGroupLevel(
  tx: Transaction,
  id: string,
  level: GroupRow['level'],
): Promise<void> {
  await tx.run(sql`UPDATE scim_groups SET level = ${level}::smallint, updated_at = now()
    WHERE id = ${id}::uuid`);
}
