import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { isUuid } from '../../../platform/uuid.ts';
import type { Comparison } from '../filter.ts';
import type { ListQuery } from '../list_query.ts';
import { peopleOf } from '../store.ts';
import type { DomainPlace } from '../store.ts';
import { conditionOf } from '../users/user_store.ts';

/** A group as its directory gets it; `members` only if requested. */
export type DirectoryGroup = {
  id: string;
  display_name: string;
  external_id: string | null;
  created_at: string;
  updated_at: string;
  members: { value: string; display: string; type: 'User' }[];
};

/**
 * Selects groups with their people, if requested. One join reads all of them, because a query per
 * group would read the people of the whole organization each time.
 */
function withMembers(place: DomainPlace, page: Sql, has_members: boolean): Sql {
  const columns = sql`g.id, g.display_name, g.external_id, g.created_at, g.updated_at`;
  if (!has_members)
    return sql`SELECT ${columns}, '[]'::json AS members FROM (${page}) g
      ORDER BY lower(g.display_name)`;
  return sql`
    WITH page AS MATERIALIZED (${page}),
    people AS (
      SELECT gm.group_id, json_agg(json_build_object('value', p.uuid, 'display', p.email, 'type',
        'User') ORDER BY p.user_id) AS members
      FROM page JOIN scim_group_members gm ON gm.group_id = page.id
        JOIN ${peopleOf(place)} p ON p.user_id = gm.user_id GROUP BY gm.group_id)
    SELECT ${columns}, coalesce(people.members, '[]') AS members
    FROM page g LEFT JOIN people ON people.group_id = g.id ORDER BY lower(g.display_name)`;
}

/** Returns the groups of a page that match the filter, by name, and their total number. */
export async function listGroups(
  db: Queryable,
  place: DomainPlace,
  { filter, start, count }: ListQuery,
  has_members: boolean,
): Promise<{ total: number; groups: DirectoryGroup[] }> {
  const fits = sql`g.domain_id = ${place.domain_id}::uuid AND ${conditionOf(filter, groupTerm)}`;
  const counted = db.row<{ total: number }>(
    sql`SELECT count(*)::integer AS total FROM scim_groups g WHERE ${fits}`,
  );
  const page = sql`SELECT * FROM scim_groups g WHERE ${fits} ORDER BY lower(g.display_name)
    LIMIT ${count} OFFSET ${start - 1}`;
  const listed = db.rows<DirectoryGroup>(withMembers(place, page, has_members));
  const [row, groups] = await Promise.all([counted, listed]);
  return { total: row!.total, groups };
}

function groupTerm({ attribute, value }: Comparison): Sql | undefined {
  const text = typeof value === 'string' ? value : null;
  const uuid = text !== null && isUuid(text) ? text : null;
  switch (attribute) {
    case 'displayname':
      return sql`lower(g.display_name) = lower(${text}::text)`;
    case 'externalid':
      return sql`g.external_id = ${text}::text`;
    case 'id':
      return sql`g.id = ${uuid}::uuid`;
    case 'members':
    case 'members.value':
      return sql`EXISTS (SELECT 1 FROM scim_group_members gm JOIN users u ON u.id = gm.user_id
        WHERE gm.group_id = g.id AND u.uuid = ${uuid}::uuid)`;
    default:
      return undefined;
  }
}

/** Returns the group of this directory with the id. */
export async function findGroup(
  db: Queryable,
  place: DomainPlace,
  id: string,
  has_members: boolean,
): Promise<DirectoryGroup | undefined> {
  if (!isUuid(id)) return undefined;
  const page = sql`SELECT * FROM scim_groups g WHERE g.domain_id = ${place.domain_id}::uuid
    AND g.id = ${id}::uuid`;
  return db.row<DirectoryGroup>(withMembers(place, page, has_members));
}

/** Counts the groups of the directory, and the memberships of its people in them. */
export async function countGroups(
  db: Queryable,
  { domain_id }: DomainPlace,
): Promise<{ groups: number; places: number }> {
  const row = await db.row<{ groups: number; places: number }>(sql`
    SELECT count(*)::integer AS groups, coalesce(sum((SELECT count(*) FROM scim_group_members gm
      WHERE gm.group_id = g.id)), 0)::integer AS places
    FROM scim_groups g WHERE g.domain_id = ${domain_id}::uuid`);
  return row!;
}

/** Creates a group without members; undefined if the directory has one with this name. */
export async function insertGroup(
  tx: Transaction,
  { domain_id }: DomainPlace,
  { display_name, external_id }: Pick<DirectoryGroup, 'display_name' | 'external_id'>,
): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(sql`
    INSERT INTO scim_groups (id, domain_id, display_name, external_id)
    VALUES (${uuidv7()}, ${domain_id}::uuid, ${display_name}, ${external_id})
    ON CONFLICT (domain_id, lower(display_name)) DO NOTHING RETURNING id`);
  return row?.id;
}

/**
 * Sets the names and the directory's id of a group; returns false if another group has the name.
 */
export async function updateGroup(
  tx: Transaction,
  { domain_id }: DomainPlace,
  id: string,
  { display_name, external_id }: Pick<DirectoryGroup, 'display_name' | 'external_id'>,
): Promise<boolean> {
  // The organization's lock is held, so nobody creates a group between this check and the change.
  const updated = await tx.run(sql`
    UPDATE scim_groups g SET display_name = ${display_name}, external_id = ${external_id},
      updated_at = now()
    WHERE g.id = ${id}::uuid AND NOT EXISTS (SELECT 1 FROM scim_groups o
      WHERE o.domain_id = ${domain_id}::uuid AND o.id <> g.id
        AND lower(o.display_name) = lower(${display_name}))`);
  return updated === 1;
}

/** Deletes the group; its people stay. */
export async function deleteGroup(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM scim_groups WHERE id = ${id}::uuid`);
}

/** Returns those uuids (the first few) whose people the directory does not see. */
export async function listStrangers(
  tx: Transaction,
  place: DomainPlace,
  uuids: readonly string[],
): Promise<string[]> {
  if (uuids.length === 0) return [];
  const rows = await tx.rows<{ uuid: string }>(sql`
    SELECT asked.uuid FROM unnest(${uuids}::uuid[]) AS asked (uuid)
    WHERE asked.uuid NOT IN (SELECT p.uuid FROM ${peopleOf(place)} p) LIMIT 3`);
  return rows.map(({ uuid }) => uuid);
}

/**
 * Adds people to the group, whom the directory then manages; returns the people who were not in it.
 */
export async function addMembers(
  tx: Transaction,
  { domain_id }: DomainPlace,
  id: string,
  uuids: readonly string[],
): Promise<string[]> {
  if (uuids.length === 0) return [];
  await tx.run(sql`
    INSERT INTO scim_users (domain_id, user_id)
    SELECT ${domain_id}::uuid, u.id FROM users u WHERE u.uuid = ANY (${uuids}::uuid[])
    ORDER BY u.id ON CONFLICT DO NOTHING`);
  const rows = await tx.rows<{ email: string }>(sql`
    WITH added AS (
      INSERT INTO scim_group_members (group_id, user_id)
      SELECT ${id}::uuid, u.id FROM users u WHERE u.uuid = ANY (${uuids}::uuid[])
      ON CONFLICT DO NOTHING RETURNING user_id)
    SELECT u.email FROM added JOIN users u ON u.id = added.user_id ORDER BY u.id`);
  return rows.map(({ email }) => email);
}

/**
 * Removes people from the group: the named ones, or all others; returns the people who were in it.
 */
export async function removeMembers(
  tx: Transaction,
  id: string,
  who: { named: readonly string[] } | { all_but: readonly string[] },
): Promise<string[]> {
  const are_meant =
    'named' in who
      ? sql`u.uuid = ANY (${who.named}::uuid[])`
      : sql`NOT u.uuid = ANY (${who.all_but}::uuid[])`;
  const rows = await tx.rows<{ email: string }>(sql`
    DELETE FROM scim_group_members gm USING users u
    WHERE gm.group_id = ${id}::uuid AND u.id = gm.user_id AND ${are_meant} RETURNING u.email`);
  return rows.map(({ email }) => email);
}
