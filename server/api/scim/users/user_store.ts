import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { withPlainDomain } from '../../../platform/mail/mailbox.ts';
import { isUuid } from '../../../platform/uuid.ts';
import type { Level } from '../../members/schema.ts';
import type { Comparison } from '../filter.ts';
import type { ListQuery } from '../list_query.ts';
import { ScimRefused } from '../refusal.ts';
import { peopleOf } from '../store.ts';
import type { DomainPlace } from '../store.ts';

/** A person whom a directory sees. Without `member_id`, it has deactivated them. */
export type PersonRow = {
  user_id: number;
  uuid: string;
  email: string;
  first_name: string;
  last_name: string;
  is_account_active: boolean;
  /** True if the address is in the directory's domain. */
  is_in_domain: boolean;
  /** True if the directory has managed them before. */
  is_in_hand: boolean;
  member_id: string | null;
  level: Level | null;
  external_id: string | null;
  /** Their userName in the directory; null: their address. */
  user_name: string | null;
  deactivated_level: 1 | 8 | null;
  /** For a deactivated person: whether they were an owner. */
  was_owner: boolean;
  groups: { value: string; display: string; type: 'direct' }[];
  created_at: string;
  updated_at: string;
};

const columns = ({ domain_id }: DomainPlace) => sql`p.*, (
  SELECT coalesce(json_agg(json_build_object('value', g.id, 'display', g.display_name, 'type',
    'direct') ORDER BY g.display_name, g.id), '[]') FROM scim_group_members gm
    JOIN scim_groups g ON g.id = gm.group_id
    WHERE gm.user_id = p.user_id AND g.domain_id = ${domain_id}::uuid) AS groups`;

/**
 * Returns the people of a page who match the filter, in the order of their accounts, and their
 * total number.
 */
export async function listPeople(
  db: Queryable,
  place: DomainPlace,
  { filter, start, count }: ListQuery,
): Promise<{ total: number; people: PersonRow[] }> {
  const fits = conditionOf(filter, (comparison) => personTerm(place, comparison));
  const people = peopleOf(place);
  const counted = db.row<{ total: number }>(
    sql`SELECT count(*)::integer AS total FROM ${people} p WHERE ${fits}`,
  );
  const listed = db.rows<PersonRow>(sql`SELECT ${columns(place)} FROM ${people} p WHERE ${fits}
    ORDER BY p.user_id LIMIT ${count} OFFSET ${start - 1}`);
  const [row, rows] = await Promise.all([counted, listed]);
  return { total: row!.total, people: rows };
}

/** Throws 400 `invalidFilter` if `termOf` does not know an attribute. */
export function conditionOf(
  filter: Comparison[],
  termOf: (comparison: Comparison) => Sql | undefined,
): Sql {
  const terms = filter.map((comparison) => {
    const term = termOf(comparison);
    if (term !== undefined) return term;
    throw new ScimRefused(
      400,
      'invalidFilter',
      `${comparison.attribute} cannot be compared: use userName, emails.value, externalId, ` +
        'id, active and displayName for people, displayName, externalId, id and members for ' +
        'groups.',
    );
  });
  return terms.length === 0 ? sql`true` : join(terms, ' AND ');
}

/** Uses users_email_unique and scim_users_by_external_id for a single person. */
function personTerm(place: DomainPlace, { attribute, value }: Comparison): Sql | undefined {
  const text = typeof value === 'string' ? value : undefined;
  switch (attribute) {
    case 'username':
      return text === undefined ? sql`false` : isCalled(place, text);
    case 'emails':
    case 'emails.value':
      return text === undefined
        ? sql`false`
        : sql`comparable_address(p.email) = comparable_address(${withPlainDomain(text)})`;
    case 'emails.type':
      return text?.toLowerCase() === 'work' ? sql`true` : sql`false`;
    case 'emails.primary':
      return value === true ? sql`true` : sql`false`;
    case 'id':
      return text !== undefined && isUuid(text) ? sql`p.uuid = ${text}::uuid` : sql`false`;
    case 'externalid':
      return sql`p.external_id = ${text ?? null}::text`;
    case 'active':
      return sql`(p.member_id IS NOT NULL AND p.is_account_active)
        = ${String(value).toLowerCase() === 'true'}::boolean`;
    case 'displayname':
      return sql`lower(coalesce(nullif(trim(p.first_name || ' ' || p.last_name), ''),
        p.user_name, p.email))
        = lower(${text ?? null}::text)`;
    default:
      return undefined;
  }
}

/** Indexes select the candidates, so that no other person of the organization is read. */
function isCalled({ domain_id }: DomainPlace, user_name: string): Sql {
  const by_address = (email: Sql) =>
    sql`comparable_address(${email}) = comparable_address(${withPlainDomain(user_name)})`;
  const by_name = (name: Sql) => sql`lower(${name}) = lower(${user_name})`;
  return sql`p.user_id = ANY (ARRAY(SELECT id FROM users WHERE ${by_address(sql`email`)}
      UNION ALL SELECT user_id FROM scim_users WHERE domain_id = ${domain_id}::uuid
        AND user_name IS NOT NULL AND ${by_name(sql`user_name`)}))
    AND CASE WHEN p.user_name IS NULL THEN ${by_address(sql`p.email`)}
      ELSE ${by_name(sql`p.user_name`)} END`;
}

/** Returns another user for whom the directory has the name. */
export async function findNamesake(
  tx: Transaction,
  place: DomainPlace,
  user_name: string,
  user_id: number | null,
): Promise<{ uuid: string } | undefined> {
  return tx.row<{ uuid: string }>(sql`SELECT p.uuid FROM ${peopleOf(place)} p
    WHERE ${isCalled(place, user_name)} AND p.user_id IS DISTINCT FROM ${user_id}::integer
    LIMIT 1`);
}

/**
 * Returns the person with the uuid, if the directory sees them. With `lock`, their account cannot
 * change until the transaction ends; the caller holds the organization's lock.
 */
export async function findPerson(
  db: Queryable,
  place: DomainPlace,
  uuid: string,
  lock?: 'lock',
): Promise<PersonRow | undefined> {
  if (!isUuid(uuid)) return undefined;
  // Only people whom the directory sees: it neither waits for nor locks accounts of others.
  if (lock !== undefined)
    await db.row(sql`SELECT 1 FROM users WHERE id = (SELECT p.user_id FROM ${peopleOf(place)} p
      WHERE p.uuid = ${uuid}::uuid) FOR NO KEY UPDATE`);
  return db.row<PersonRow>(
    sql`SELECT ${columns(place)} FROM ${peopleOf(place)} p WHERE p.uuid = ${uuid}::uuid`,
  );
}

/** The directory's data about a person, beyond their account. */
export type DirectoryNote = Partial<
  Pick<PersonRow, 'external_id' | 'user_name' | 'deactivated_level' | 'was_owner'>
>;

/** Starts managing the person, and stores the given data of the directory about them. */
export async function keepPerson(
  tx: Transaction,
  { domain_id }: DomainPlace,
  user_id: number,
  known: DirectoryNote,
): Promise<void> {
  const { external_id = null, user_name = null } = known;
  const { deactivated_level = null, was_owner = false } = known;
  const kept = [
    'external_id' in known ? [sql`external_id = EXCLUDED.external_id`] : [],
    'user_name' in known ? [sql`user_name = EXCLUDED.user_name`] : [],
    'deactivated_level' in known ? [sql`deactivated_level = EXCLUDED.deactivated_level`] : [],
    'was_owner' in known ? [sql`was_owner = EXCLUDED.was_owner`] : [],
  ].flat();
  const update = join([...kept, sql`updated_at = now()`]);
  await tx.run(sql`
    INSERT INTO scim_users
      (domain_id, user_id, external_id, user_name, deactivated_level, was_owner)
    VALUES (${domain_id}::uuid, ${user_id}, ${external_id}, ${user_name},
      ${deactivated_level}::smallint, ${was_owner})
    ON CONFLICT (domain_id, user_id) DO UPDATE SET ${update}`);
}

/** Deletes the directory's data about the person, and their group memberships. */
export async function forgetPerson(
  tx: Transaction,
  { domain_id }: DomainPlace,
  user_id: number,
): Promise<void> {
  await tx.run(sql`DELETE FROM scim_group_members gm USING scim_groups g
    WHERE g.id = gm.group_id AND g.domain_id = ${domain_id}::uuid AND gm.user_id = ${user_id}`);
  await tx.run(sql`DELETE FROM scim_users WHERE domain_id = ${domain_id}::uuid
    AND user_id = ${user_id}`);
}

/** The directory itself gives the address to a person again. */
export async function takeAddress(
  tx: Transaction,
  { domain_id }: DomainPlace,
  email: string,
): Promise<void> {
  await tx.run(sql`DELETE FROM scim_left_addresses WHERE domain_id = ${domain_id}::uuid
    AND address_hash = scim_address_hash(${email})`);
}

/**
 * Returns true if the account is a member of another organization, which this directory does not
 * manage, or if the directory of another may make it a member again.
 */
export async function isElsewhere(
  tx: Transaction,
  { organization }: DomainPlace,
  user_id: number,
): Promise<boolean> {
  const row = await tx.row(sql`SELECT 1 FROM members WHERE user_id = ${user_id}
    AND organization_id <> ${organization.id}::uuid
    UNION ALL SELECT 1 FROM scim_users s JOIN domains d ON d.id = s.domain_id
    WHERE s.user_id = ${user_id} AND s.deactivated_level IS NOT NULL
      AND d.organization_id <> ${organization.id}::uuid LIMIT 1`);
  return row !== undefined;
}

/**
 * Returns true if the address has an open invite of any organization. Any holder of the address
 * could accept it.
 */
export async function isInvited(tx: Transaction, email: string): Promise<boolean> {
  const row = await tx.row(sql`SELECT 1 FROM invites
    WHERE comparable_address(target_email) = comparable_address(${email}) LIMIT 1`);
  return row !== undefined;
}
