import sql, { raw } from 'sql-template-tag';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import { user_has_second_factor } from '../../platform/http/caller/second_factor.ts';
import type { Entry } from '../../platform/http/write.ts';
import { withPlainDomain } from '../../platform/mail/mailbox.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { stepOfCode } from '../../platform/passwords/totp.ts';
import { useRecoveryCode } from './recovery_codes/store.ts';
import type { AccountRow } from './schema.ts';

/** The fields of a user that sign-in and the command line need. */
export type UserRow = {
  id: number;
  uuid: string;
  email: string;
  is_active: boolean;
  password_hash: string | null;
};

/**
 * A user with all their credentials. `address` is their e-mail address in its comparable form;
 * `totp_secret` is sealed.
 */
export type Identity = UserRow & {
  first_name: string;
  last_name: string;
  is_email_verified: boolean;
  address: string;
  totp_secret: Buffer | null;
  /** True if an app's codes are active. */
  has_totp: boolean;
  /** True if the user has a second factor: an app's codes, or a passkey. */
  has_second_factor: boolean;
};

const identity = sql`
  u.id, u.uuid, u.email, u.is_active, u.password_hash, u.first_name, u.last_name,
    u.is_email_verified, comparable_address(u.email) AS address, u.totp_secret,
    u.totp_confirmed_at IS NOT NULL AS has_totp,
    ${raw(user_has_second_factor)} AS has_second_factor`;

/** The user `u` as JSON of the schema `User`, for nesting in other records. */
export const user_json = sql`
  json_build_object('id', u.id, 'uuid', u.uuid, 'distinct_id', u.distinct_id, 'first_name',
    u.first_name, 'last_name', u.last_name, 'email', u.email, 'is_email_verified',
    u.is_email_verified, 'mascot_config', u.mascot_config)`;

/**
 * Creates an active user. Stores the address in the form of `withPlainDomain`; another user with
 * the same address in any case violates `users_email_unique`.
 */
export async function insertUser(
  tx: Transaction,
  fields: {
    email: string;
    password_hash: string | null;
    first_name?: string;
    last_name?: string;
    is_email_verified?: boolean;
  },
): Promise<UserRow> {
  const { email, password_hash, first_name = '', last_name = '', is_email_verified } = fields;
  const [row] = await tx.rows<UserRow>(sql`
    INSERT INTO users (uuid, distinct_id, email, password_hash, first_name, last_name,
      is_email_verified)
    VALUES (${uuidv7()}, ${uuidv4()}, ${withPlainDomain(email)}, ${password_hash}, ${first_name},
      ${last_name}, ${is_email_verified ?? false})
    RETURNING id, uuid, email, is_active, password_hash`);
  return row!;
}

/**
 * Returns the user with this address, in any spelling. Uses the unique index over
 * comparable_address(email).
 */
export function findUserByEmail(db: Queryable, email: string): Promise<UserRow | undefined> {
  return db.row<UserRow>(
    sql`SELECT id, uuid, email, is_active, password_hash FROM users
      WHERE comparable_address(email) = comparable_address(${withPlainDomain(email)})`,
  );
}

/**
 * Returns an address in its comparable form, and its active user; one statement, whether the user
 * exists or not. Uses the unique index over comparable_address(email).
 */
export async function findIdentity(
  db: Queryable,
  email: string,
): Promise<{ address: string; user: Identity | undefined }> {
  const row = await db.row<Omit<Identity, 'id'> & { id: number | null; asked: string }>(sql`
    SELECT asked.address AS asked, ${identity}
      FROM (SELECT comparable_address(${withPlainDomain(email)}) AS address) asked LEFT JOIN users u
      ON comparable_address(u.email) = asked.address AND u.is_active`);
  return { address: row!.asked, user: row!.id === null ? undefined : { ...row!, id: row!.id } };
}

/**
 * Returns the active user; undefined if they were deleted or deactivated. With `lock`, their row
 * cannot change until the transaction ends.
 */
export function findIdentityById(
  db: Queryable,
  id: number,
  lock?: 'lock',
): Promise<Identity | undefined> {
  return db.row<Identity>(
    sql`SELECT ${identity} FROM users u WHERE u.id = ${id}
      AND u.is_active ${locking(lock, 'FOR NO KEY UPDATE OF u')}`,
  );
}

/** Returns the user in the schema `User`. */
export async function getUser(db: Queryable, id: number): Promise<Record<string, unknown>> {
  const row = await db.row<{ user: Record<string, unknown> }>(
    sql`SELECT ${user_json} AS user FROM users u WHERE u.id = ${id}`,
  );
  if (row === undefined)
    throw new Error('A user disappeared in the transaction that signs them in.');
  return row.user;
}

/**
 * Returns the caller's own account, with the organizations that their key or session reaches. It
 * includes organizations that are closed to them until they have a second factor. With `lock`, the
 * account cannot change until the transaction ends.
 */
export function findAccount(
  db: Queryable,
  caller: Pick<Caller, 'user_id' | 'scoped_organizations' | 'scoped_teams'>,
  now: string,
  lock?: 'lock',
): Promise<AccountRow | undefined> {
  return db.row<AccountRow>(sql`
    SELECT u.id, u.uuid, u.distinct_id, u.first_name, u.last_name, u.email, u.is_email_verified,
      u.mascot_config,
      (SELECT l.email FROM user_links l WHERE l.user_id = u.id AND l.purpose = 'verify_email'
        AND l.email <> u.email AND l.expires_at > ${now}::timestamptz) AS pending_email,
      u.password_hash IS NOT NULL AS has_password, ${raw(user_has_second_factor)} AS is_2fa_enabled,
      u.totp_confirmed_at IS NOT NULL AS is_totp_enabled,
      (SELECT count(*)::integer FROM passkeys p WHERE p.user_id = u.id) AS passkey_count,
      (SELECT count(*)::integer FROM recovery_codes c WHERE c.user_id = u.id
        AND c.used_at IS NULL) AS recovery_codes_left,
      EXISTS (SELECT 1 FROM social_identities s WHERE s.user_id = u.id) AS has_social_auth,
      (SELECT coalesce(json_agg(json_build_object('id', o.id, 'name', o.name, 'membership_level',
        m.level, 'enforce_2fa', o.enforce_2fa) ORDER BY m.joined_at, m.id), '[]')
        FROM members m JOIN organizations o ON o.id = m.organization_id
        WHERE m.user_id = u.id AND ${caller.scoped_teams}::integer[] IS NULL
          AND (${caller.scoped_organizations}::uuid[] IS NULL
            OR o.id = ANY (${caller.scoped_organizations}::uuid[]))) AS organizations,
      u.created_at, u.updated_at
    FROM users u WHERE u.id = ${caller.user_id}
      ${locking(lock, 'FOR NO KEY UPDATE OF u')}`);
}

/** The fields of a user that can be set. */
type UserChanges = Partial<
  Pick<AccountRow, 'first_name' | 'last_name' | 'mascot_config' | 'email' | 'is_email_verified'>
> & {
  password_hash?: string | null;
  is_active?: boolean;
};

/**
 * Sets the given fields; without one, `updated_at` stays unchanged. Another user with the address
 * violates `users_email_unique`.
 */
export async function updateUser(tx: Transaction, id: number, changes: UserChanges): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await tx.run(sql`UPDATE users SET ${assignments(changes)}, updated_at = now() WHERE id = ${id}`);
}

/** Removes the user's second factor: an app's codes, passkeys, recovery codes. */
export async function removeSecondFactor(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`DELETE FROM passkeys WHERE user_id = ${user_id}`);
  await removeTotp(tx, user_id);
  await removeIdleCodes(tx, user_id);
}

/** Ends the codes of the user's app as a second factor. */
export async function removeTotp(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(
    sql`UPDATE users SET totp_secret = NULL, totp_confirmed_at = NULL, totp_last_step = NULL,
      updated_at = now() WHERE id = ${user_id}`,
  );
}

/** Deletes the recovery codes of a user without a second factor. */
export async function removeIdleCodes(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`
    DELETE FROM recovery_codes c USING users u WHERE c.user_id = ${user_id} AND u.id = c.user_id
      AND NOT ${raw(user_has_second_factor)}`);
}

/** The kind of code that was used. */
export type UsedFactor = 'totp' | 'recovery_code';

/**
 * Uses up a code of the user's second factor: a code of the app with its time step and all before
 * it, a recovery code for good. Returns its kind; undefined for a wrong or used code, also if the
 * same code is sent several times at once.
 */
export async function useCode(
  tx: Transaction,
  secrets: Secrets,
  now_ms: number,
  user: Identity,
  code: string,
): Promise<UsedFactor | undefined> {
  const plain = code.replaceAll(/[\s-]/g, '').toUpperCase();
  if (!/^\d{6}$/.test(plain))
    return (await useRecoveryCode(tx, secrets, user.id, plain, isoInstant(now_ms)))
      ? 'recovery_code'
      : undefined;
  if (user.totp_secret === null) return undefined;
  const step = stepOfCode(secrets.open(user.totp_secret, totpSealContext(user.id)), plain, now_ms);
  return step !== undefined && (await useTotpStep(tx, user.id, step)) ? 'totp' : undefined;
}

/** Returns the context that seals a user's seed. */
export function totpSealContext(user_id: number): string {
  return `users:${user_id}:totp_secret`;
}

/**
 * Returns false if this step or a later one was used before; the row's lock lets one of several
 * succeed.
 */
async function useTotpStep(tx: Transaction, user_id: number, step: number): Promise<boolean> {
  return (
    (await tx.run(
      sql`UPDATE users SET totp_last_step = ${step} WHERE id = ${user_id}
        AND coalesce(totp_last_step, -1) < ${step}`,
    )) === 1
  );
}

/** Returns the author on a route without credentials: the person identified by a link. */
export function actorOf({
  id,
  uuid,
  email,
}: Pick<Identity, 'id' | 'uuid' | 'email'>): NonNullable<Entry['actor']> {
  return { user_id: id, user_uuid: uuid, email };
}
