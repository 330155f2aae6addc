import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { user_has_second_factor } from '../../platform/http/caller/second_factor.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Mail } from '../../platform/mail/mail.ts';
import type { Outbox } from '../../platform/mail/outbox.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { takeOutOfKeys } from '../api_keys/store.ts';
import { managedBy } from '../managed/store.ts';
import { memberCount } from '../organizations/store.ts';
import { endSessions } from '../sessions/store.ts';
import { user_json } from '../users/store.ts';
import { joinedMail } from './joined_mail.ts';
import type { Level, MemberRow } from './schema.ts';

const columns = sql`
  m.id, ${user_json} AS user, m.level, m.joined_at, m.updated_at,
    ${raw(user_has_second_factor)} AS is_2fa_enabled,
  EXISTS (SELECT 1 FROM social_identities s WHERE s.user_id = u.id) AS has_social_auth,
  m.last_seen_at, ${managedBy('member', sql`u.uuid`, sql`m.organization_id`)} AS managed_by,
  ${tokensMade(sql`m.organization_id`, sql`u.id`)} AS directory_token_count`;
const all = (organization_id: string) =>
  sql`members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id}::uuid`;
const active = (organization_id: string) => sql`${all(organization_id)} AND u.is_active`;

/**
 * Lists the organization's active members, newest first (ties by id). It first chooses the page by
 * members_by_organization, then reads only these members' ways to sign in.
 */
export function listMembers(organization_id: string): List {
  const order = sql`ORDER BY m.joined_at DESC, m.id DESC`;
  return {
    rows: (page) => sql`SELECT ${columns} FROM (SELECT m.* FROM ${active(organization_id)} ${order}
      LIMIT ${page.limit} OFFSET ${page.offset}) m JOIN users u ON u.id = m.user_id ${order}`,
    count: sql`SELECT ${memberCount(sql`${organization_id}::uuid`)} AS count`,
  };
}

/** Returns the active member with this user uuid. */
export function findMember(
  db: Queryable,
  organization_id: string,
  user_uuid: string,
): Promise<MemberRow | undefined> {
  return db.row<MemberRow>(
    sql`SELECT ${columns} FROM ${active(organization_id)} AND u.uuid = ${user_uuid}::uuid`,
  );
}

/** Returns the member with this user uuid, whose account may be deactivated. */
export function findMemberOfAnyState(
  db: Queryable,
  organization_id: string,
  user_uuid: string,
): Promise<MemberRow | undefined> {
  return db.row<MemberRow>(
    sql`SELECT ${columns} FROM ${all(organization_id)} AND u.uuid = ${user_uuid}::uuid`,
  );
}

/**
 * Returns true if the organization has another active owner. The caller holds the organization's
 * lock, so the answer stays valid until the transaction ends.
 */
export async function hasOtherOwner(
  tx: Transaction,
  organization_id: string,
  member_id: string,
): Promise<boolean> {
  return (
    (await tx.row(
      sql`SELECT 1 FROM ${active(organization_id)} AND m.level = 15 AND m.id <> ${member_id}::uuid
        LIMIT 1`,
    )) !== undefined
  );
}

/** Sets the level; an equal level leaves `updated_at` unchanged. */
export async function updateLevel(tx: Transaction, member_id: string, level: Level): Promise<void> {
  await tx.run(
    sql`UPDATE members SET level = ${level}, updated_at = now() WHERE id = ${member_id}::uuid
      AND level <> ${level}`,
  );
}

/**
 * Adds the user as a member with the level, without mails; returns false if they are a member
 * already. The caller holds the organization's lock.
 */
export async function insertMember(
  tx: Transaction,
  organization_id: string,
  user_id: number,
  level: Level,
): Promise<boolean> {
  const inserted = await tx.run(sql`
    INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${uuidv7()}, ${organization_id}::uuid, ${user_id}, ${level})
    ON CONFLICT (user_id, organization_id) DO NOTHING`);
  return inserted === 1;
}

/**
 * Adds the user as a member with the level; returns false if they are a member already. After the
 * commit, the other members get a mail if the organization wants it; the answer does not wait. The
 * caller holds the organization's lock.
 */
export async function joinOrganization(
  { mail, outbox }: { mail: Mail; outbox: Outbox },
  { tx, afterwards }: { tx: Transaction; afterwards: Afterwards },
  organization: { id: string; name: string },
  user: { id: number; name: string; email: string },
  level: Level,
): Promise<boolean> {
  if (!(await insertMember(tx, organization.id, user.id, level))) return false;
  if (mail.is_configured) {
    const addresses = await listJoinedMailAddresses(tx, organization.id, user.id);
    const message = joinedMail({
      organization_name: organization.name,
      person_name: user.name,
      email: user.email,
      level,
    });
    await outbox.post(
      { tx, afterwards },
      addresses.map((to) => ({ message: { ...message, to } })),
    );
  }
  return true;
}

/**
 * Removes the member and their access. Deletes keys that only work here, removes the organization
 * and its projects from the limits of other keys, and signs a person without any organization out
 * everywhere.
 */
export async function deleteMember(
  tx: Transaction,
  organization_id: string,
  user_id: number,
): Promise<void> {
  // Locks the person: if two organizations remove them at once, the later one sees that none is
  // left.
  await tx.row(sql`SELECT 1 FROM users WHERE id = ${user_id} FOR NO KEY UPDATE`);
  await tx.run(
    sql`DELETE FROM members WHERE organization_id = ${organization_id}::uuid
      AND user_id = ${user_id}`,
  );
  await takeOutOfKeys(tx, organization_id, user_id);
  const other = await tx.row(sql`SELECT 1 FROM members WHERE user_id = ${user_id} LIMIT 1`);
  if (other === undefined) await endSessions(tx, user_id, null);
}

/** Lists all other active members; none if the organization does not want such mails. */
async function listJoinedMailAddresses(
  tx: Transaction,
  organization_id: string,
  user_id: number,
): Promise<string[]> {
  const rows = await tx.rows<{ email: string }>(sql`
    SELECT u.email FROM ${active(organization_id)} AND u.id <> ${user_id}
      AND EXISTS (SELECT 1 FROM organizations o WHERE o.id = m.organization_id
        AND o.is_member_join_email_enabled) ORDER BY u.id`);
  return rows.map(({ email }) => email);
}

/**
 * SQL that counts the tokens of the organization's directories that end when the user is no longer
 * an owner.
 */
function tokensMade(organization_id: Sql, user_id: Sql): Sql {
  return sql`(SELECT count(*)::integer FROM scim_tokens made JOIN domains home
    ON home.id = made.domain_id WHERE made.maker_id = ${user_id}
      AND home.organization_id = ${organization_id} AND made.expires_at > now())`;
}
