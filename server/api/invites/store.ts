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

/** An invite with what its link is made of. */
export type StoredInvite = { record: InviteRow; token_nonce: string; sent_at: string };
/** The stored fields of a new invite. */
export type InviteFields = Required<
  Pick<InviteRow, 'target_email' | 'first_name' | 'level' | 'message'>
>;

/** Invites that were sent before this instant are expired. */
const open_since = (now_ms: number) => isoInstant(now_ms - open_for_ms);
/**
 * Is invite `i` past its time, or is there nobody (any more) who sent it and may give its level
 * away? Whoever lets somebody in by an invite asks this.
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
 * The organization's invites, expired ones too, newest first (ties by id). The page is chosen
 * first, by invites_by_organization: whether it is expired is asked of no other invite.
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

/** The invite of the organization. */
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
 * Obstacles to an invite of an address: its first place in the list, a membership (of a person who
 * may be deactivated), a directory that has removed the person, an open invite with a higher level
 * than the caller's.
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

/** A new invite, with the id of the one that its address had before it. */
export type CreatedInvite = StoredInvite & { replaced_invite: string | null };

/**
 * Creates the invites, each in place of the one that its address may have, and gives them in the
 * order of `fields`. The caller holds the organization's lock, so nobody creates another one for an
 * address between the two statements.
 */
export async function insertInvites(
  tx: Transaction,
  organization_id: string,
  user_id: number,
  fields: InviteFields[],
  now_ms: number,
): Promise<CreatedInvite[]> {
  const emails = fields.map(({ target_email }) => target_email);
  // Leans on invites_target_unique: an address has one at most.
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

/** Opens the invite anew for 3 days from now, under another link; the user vouches for it. */
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

/** Removes the invite; its link opens nothing any more. */
export async function deleteInvite(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM invites WHERE id = ${id}::uuid`);
}

/** The sender of invites, and their organization. */
export type Sender = { organization_name: string; name: string; email: string };

/** The member with this user id as a sender; `name` is empty when they have not said it. */
export async function getSender(
  tx: Transaction,
  organization_id: string,
  user_id: number,
): Promise<Sender> {
  const row = await tx.row<Sender>(sql`
    SELECT o.name AS organization_name, trim(u.first_name || ' ' || u.last_name) AS name, u.email
    FROM organizations o, users u WHERE o.id = ${organization_id}::uuid AND u.id = ${user_id}`);
  if (row === undefined)
    throw new Error('A member or their organization was gone while the organization was locked.');
  return row;
}

/**
 * The account that has the address of an invite; `name` is empty when the person has not said it.
 */
export type Addressee = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  is_email_verified: boolean;
};
/**
 * An invite wherever it is: with its organization, and with the account of its address where there
 * is one.
 */
export type InviteAnywhere = StoredInvite & {
  organization: { id: string; name: string };
  addressee: (Addressee & { is_taken_out: boolean }) | undefined;
};

/**
 * The invite with this id. With `lock` its organization is locked, and with it everything that
 * creates, sends, accepts or removes invites there, until the transaction ends; only then the
 * invite is read, so that of several acceptances one finds it. Its account is locked last: nobody
 * gives it another address meanwhile, or overlooks where it belongs from then on.
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
  // Without the lock the invite may have become that account meanwhile, and be gone.
  const isUsed =
    lock === undefined &&
    addressee !== undefined &&
    (await findInvite(db, home, id, now_ms)) === undefined;
  return isUsed ? undefined : { ...invite, organization, addressee };
}

/**
 * The invites as they are now, in the same order; one that is gone or has another link by now stays
 * as it was given.
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
