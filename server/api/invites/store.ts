import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import { isBarred } from '../deactivation/store.ts';
import { user_json } from '../users/store.ts';
import { open_for_ms } from './schema.ts';
import type { InviteRow } from './schema.ts';

/** An invite with the facts that its link is derived from. */
export type StoredInvite = { record: InviteRow; token_nonce: string; sent_at: string };
/** The stored fields of a new invite. */
export type InviteFields = Required<
  Pick<InviteRow, 'target_email' | 'first_name' | 'level' | 'message'>
>;

/** Invites sent before this instant have expired. */
const open_since = (now_ms: number) => isoInstant(now_ms - open_for_ms);
/**
 * SQL that is true if invite `i` is too old, or if its sender may no longer invite to its level.
 * Everything that accepts an invite checks this.
 */
export const isExpired = (
  now_ms: number,
) => sql`(i.sent_at < ${open_since(now_ms)}::timestamptz OR NOT EXISTS (
  SELECT 1 FROM members v JOIN users w ON w.id = v.user_id AND w.is_active
  WHERE v.user_id = i.sent_by AND v.organization_id = i.organization_id AND v.level >= i.level))`;
const columns = (now_ms: number) => sql`
  i.id, i.target_email, i.first_name, i.emailing_attempt_made, i.level,
    ${isExpired(now_ms)} AS is_expired,
  CASE WHEN u.id IS NULL THEN NULL ELSE ${user_json} END AS created_by, i.created_at,
    i.updated_at, i.message, ${managedBy('invite', sql`i.id`)} AS managed_by`;
const inviter = sql`LEFT JOIN users u ON u.id = i.created_by`;
const with_inviter = sql`invites i ${inviter}`;

/**
 * Lists the organization's invites, including expired ones, newest first (ties by id). It first
 * chooses the page by invites_by_organization, then checks only these invites for expiry.
 */
export function listInvites(organization_id: string, now_ms: number): List {
  const order = sql`ORDER BY i.created_at DESC, i.id DESC`;
  return {
    rows: (page) => sql`SELECT ${columns(now_ms)} FROM (SELECT i.* FROM invites i
      WHERE i.organization_id = ${organization_id}::uuid ${order}
      LIMIT ${page.limit} OFFSET ${page.offset}) i ${inviter} ${order}`,
    count: sql`SELECT count(*) AS count FROM invites
      WHERE organization_id = ${organization_id}::uuid`,
  };
}

/** Returns the invite of the organization. */
export function findInvite(
  db: Queryable,
  organization_id: string,
  id: string,
  now_ms: number,
): Promise<StoredInvite | undefined> {
  return findStored(
    db,
    now_ms,
    sql`i.organization_id = ${organization_id}::uuid AND i.id = ${id}::uuid`,
  );
}

/**
 * The obstacles to an invite of an address: its first place in the list, a membership (also of a
 * deactivated person), and a directory that has removed the person. An open invite with a higher
 * level than the caller's is an obstacle too.
 */
export type Standing = {
  first_index: number;
  membership: 'active' | 'deactivated' | null;
  is_taken_out: boolean;
  higher_level: number | null;
};

/**
 * Lists the obstacles of each address in the organization, in the order of the addresses. Addresses
 * are compared as the unique indexes compare them, so an accepted address can be stored. Uses
 * users_email_unique and invites_target_unique.
 */
export async function listStandings(
  tx: Transaction,
  organization_id: string,
  emails: string[],
  caller_level: number,
  now_ms: number,
): Promise<Standing[]> {
  return tx.rows<Standing>(sql`
    SELECT (min(asked.number) OVER (PARTITION BY comparable_address(asked.email)) - 1)::integer AS
      first_index,
      (SELECT CASE WHEN u.is_active THEN 'active' ELSE 'deactivated' END FROM users u JOIN members m
        ON m.user_id = u.id
        WHERE comparable_address(u.email) = comparable_address(asked.email)
          AND m.organization_id = ${organization_id}::uuid) AS membership,
      EXISTS (SELECT 1 FROM users u
        WHERE comparable_address(u.email) = comparable_address(asked.email)
          AND ${isBarred(sql`${organization_id}::uuid`, sql`u.id`)}) AS is_taken_out,
      (SELECT i.level FROM invites i WHERE i.organization_id = ${organization_id}::uuid
        AND comparable_address(i.target_email) = comparable_address(asked.email)
        AND i.level > ${caller_level} AND i.sent_at >= ${open_since(now_ms)}::timestamptz) AS
          higher_level
    FROM unnest(${emails}::text[]) WITH ORDINALITY AS asked (email, number) ORDER BY asked.number`);
}

/** A new invite, with the id of the invite that it replaces. */
export type CreatedInvite = StoredInvite & { replaced_invite: string | null };

/**
 * Creates the invites, each in place of an existing invite for its address, and returns them in the
 * order of `fields`. The caller holds the organization's lock, so nobody creates another invite
 * between the two statements.
 */
export async function insertInvites(
  tx: Transaction,
  organization_id: string,
  user_id: number,
  fields: InviteFields[],
  now_ms: number,
): Promise<CreatedInvite[]> {
  const emails = fields.map(({ target_email }) => target_email);
  // Uses invites_target_unique: an address has at most one invite.
  const replaced = await tx.rows<{ id: string; index: number }>(sql`
    DELETE FROM invites i USING unnest(${emails}::text[]) WITH ORDINALITY AS asked (email, number)
    WHERE i.organization_id = ${organization_id}::uuid
      AND comparable_address(i.target_email) = comparable_address(asked.email)
    RETURNING i.id, (asked.number - 1)::integer AS index`);
  const replaced_ids = new Map(replaced.map(({ id, index }) => [index, id]));
  const now = isoInstant(now_ms);
  const ids = fields.map(() => uuidv7());
  await tx.run(sql`
    INSERT INTO invites (id, organization_id, target_email, first_name, level, message, token_nonce,
      created_by, sent_by, created_at, sent_at, updated_at)
    SELECT made.*, ${user_id}::integer, ${user_id}::integer, ${now}::timestamptz,
      ${now}::timestamptz, ${now}::timestamptz
    FROM (SELECT id, ${organization_id}::uuid, target_email, first_name, level, message, token_nonce
      FROM unnest(${ids}::uuid[], ${emails}::text[], ${fields.map((one) => one.first_name)}::text[],
        ${fields.map((one) => one.level)}::smallint[],
        ${fields.map((one) => one.message)}::text[],
          ${fields.map(() => uuidv4())}::uuid[]) AS asked (id, target_email, first_name, level,
          message, token_nonce)) made`);
  const created = new Map(
    (await listStored(tx, now_ms, sql`i.id = ANY (${ids}::uuid[])`)).map((invite) => [
      invite.record.id,
      invite,
    ]),
  );
  return ids.map((id, index) => ({
    ...created.get(id)!,
    replaced_invite: replaced_ids.get(index) ?? null,
  }));
}

/** Renews the invite for 3 days from now, with another link; the user becomes its sender. */
export async function renewInvite(
  tx: Transaction,
  id: string,
  user_id: number,
  now_ms: number,
): Promise<void> {
  const now = isoInstant(now_ms);
  await tx.run(sql`
    UPDATE invites SET token_nonce = ${uuidv4()}, sent_by = ${user_id},
      sent_at = ${now}::timestamptz, updated_at = ${now}::timestamptz, emailing_attempt_made = false
      WHERE id = ${id}::uuid`);
}

/** Deletes the invite; its link stops working. */
export async function deleteInvite(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM invites WHERE id = ${id}::uuid`);
}

/** The sender of invites, and their organization. */
export type Sender = { organization_name: string; name: string; email: string };

/**
 * Returns the member with this user id as a sender; `name` is empty if they have not entered one.
 */
export async function getSender(
  tx: Transaction,
  organization_id: string,
  user_id: number,
): Promise<Sender> {
  const row = await tx.row<Sender>(sql`
    SELECT o.name AS organization_name, trim(u.first_name || ' ' || u.last_name) AS name, u.email
    FROM organizations o, users u WHERE o.id = ${organization_id}::uuid AND u.id = ${user_id}`);
  if (row === undefined)
    throw new Error(
      'A member or their organization disappeared while the organization was locked.',
    );
  return row;
}

/** The account with the address of an invite; `name` is empty if the person has not entered one. */
export type Addressee = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  is_email_verified: boolean;
};
/**
 * An invite of any organization, with its organization and the account of its address, if one
 * exists.
 */
export type InviteAnywhere = StoredInvite & {
  organization: { id: string; name: string };
  addressee: (Addressee & { is_taken_out: boolean }) | undefined;
};

/**
 * Returns the invite with this id. With `lock`, it first locks the organization, which blocks
 * everything that creates, sends, accepts or removes invites there until the transaction ends. It
 * reads the invite afterwards, so that only one of several acceptances finds it. It locks the
 * account last, so that nobody changes its address meanwhile, and later changes see its new
 * membership.
 */
export async function findInviteAnywhere(
  db: Queryable,
  id: string,
  now_ms: number,
  lock?: 'lock',
): Promise<InviteAnywhere | undefined> {
  const organization = await db.row<InviteAnywhere['organization']>(sql`
    SELECT o.id, o.name FROM organizations o WHERE o.id = (SELECT organization_id FROM invites
      WHERE id = ${id}::uuid) ${locking(lock, 'FOR NO KEY UPDATE')}`);
  const invite =
    organization === undefined ? undefined : await findInvite(db, organization.id, id, now_ms);
  if (organization === undefined || invite === undefined) return undefined;
  const { id: home } = organization;
  const addressee = await db.row<NonNullable<InviteAnywhere['addressee']>>(sql`
    SELECT id, uuid, email, trim(first_name || ' ' || last_name) AS name, is_email_verified,
      ${isBarred(sql`${home}::uuid`, sql`users.id`)} AS is_taken_out FROM users
    WHERE comparable_address(email) = comparable_address(${invite.record.target_email})
    ${locking(lock, 'FOR NO KEY UPDATE OF users')}`);
  // Without the lock, the invite may meanwhile have become that account and been deleted.
  const isUsed =
    lock === undefined &&
    addressee !== undefined &&
    (await findInvite(db, home, id, now_ms)) === undefined;
  return isUsed ? undefined : { ...invite, organization, addressee };
}

/**
 * Returns the invites in their current state and the same order; an invite that is deleted or has
 * another link stays as given.
 */
export async function findPresent(
  db: Queryable,
  invites: StoredInvite[],
  now_ms: number,
): Promise<StoredInvite[]> {
  const ids = invites.map(({ record }) => record.id);
  const present = new Map(
    (await listStored(db, now_ms, sql`i.id = ANY (${ids}::uuid[])`)).map((invite) => [
      invite.token_nonce,
      invite,
    ]),
  );
  return invites.map((invite) => present.get(invite.token_nonce) ?? invite);
}

async function findStored(
  db: Queryable,
  now_ms: number,
  condition: Sql,
): Promise<StoredInvite | undefined> {
  return (await listStored(db, now_ms, condition))[0];
}

async function listStored(db: Queryable, now_ms: number, condition: Sql): Promise<StoredInvite[]> {
  const rows = await db.rows<InviteRow & Omit<StoredInvite, 'record'>>(
    sql`SELECT ${columns(now_ms)}, i.token_nonce, i.sent_at FROM ${with_inviter}
      WHERE ${condition}`,
  );
  return rows.map(({ token_nonce, sent_at, ...record }) => ({ record, token_nonce, sent_at }));
}
