import sql, { empty } from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { randomBase62 } from '../../platform/http/caller/api_key.ts';
import type { MailedLink } from '../../platform/mail/outbox.ts';
import { invalid } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { findIdentityById } from '../users/store.ts';
import type { Identity } from '../users/store.ts';

/** Purposes of a link. */
export type Purpose = 'verify_email' | 'reset_password';

const hour_ms = 3_600_000;
const lifetimes_ms: Record<Purpose, number> = {
  verify_email: 72 * hour_ms,
  reset_password: hour_ms,
};
const pages: Record<Purpose, string> = {
  verify_email: 'verify-email',
  reset_password: 'reset-password',
};

type Maker = Pick<Deps, 'secrets' | 'clock' | 'config'>;
type Reader = Pick<Deps, 'secrets' | 'clock'>;

/** A new link: its address, and its id in the outbox. */
export type CreatedLink = MailedLink & { url: string };

/**
 * Creates a link of the user; the last part of its address is a token of 256 random bits. An
 * earlier link for the same purpose becomes invalid. `email` is the address that opening the link
 * verifies; null if the link is not mailed to it. A link works once: for 1 hour to set a password,
 * for 3 days to verify an address.
 */
export async function createLink(
  tx: Transaction,
  { secrets, clock, config }: Maker,
  purpose: Purpose,
  user_id: number,
  email: string | null,
): Promise<CreatedLink> {
  const token = randomBase62();
  const hash = tokenHash(secrets, token);
  const now = clock.now();
  const expires_at_ms = now + lifetimes_ms[purpose];
  await tx.run(sql`
    INSERT INTO user_links (user_id, purpose, token_hash, email, created_at, expires_at)
    VALUES (${user_id}, ${purpose}, ${hash}, ${email},
      ${isoInstant(now)}::timestamptz, ${isoInstant(expires_at_ms)}::timestamptz)
    ON CONFLICT (user_id, purpose) DO UPDATE
      SET token_hash = EXCLUDED.token_hash, email = EXCLUDED.email,
        created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at`);
  return {
    url: `${config.public_url}/${pages[purpose]}/${token}`,
    name: `user_link:${hash.toString('hex')}`,
    expires_at_ms,
  };
}

/**
 * Returns the user of a link. Throws 400 `expired` for an unknown, used, expired or replaced link,
 * and for the link of an inactive user.
 */
export async function readLink(
  db: Queryable,
  { secrets, clock }: Reader,
  purpose: Purpose,
  token: string,
): Promise<Identity> {
  const link = await db.row<{ user_id: number }>(
    sql`SELECT user_id FROM user_links WHERE token_hash = ${tokenHash(secrets, token)}
      AND purpose = ${purpose} AND expires_at > ${isoInstant(clock.now())}::timestamptz`,
  );
  const user = link === undefined ? undefined : await findIdentityById(db, link.user_id);
  if (user === undefined) throw voidLink();
  return user;
}

/**
 * Uses up the link and locks its user until the transaction ends; of concurrent requests, one
 * succeeds. `email` is the address that it verifies. Throws like `readLink`.
 */
export async function useLink(
  tx: Transaction,
  reader: Reader,
  purpose: Purpose,
  token: string,
): Promise<{ user: Identity; email: string | null }> {
  const { id } = await readLink(tx, reader, purpose, token);
  // The user is locked first, as in every change of a user.
  const user = await findIdentityById(tx, id, 'lock');
  const link = await tx.row<{ email: string | null }>(
    sql`DELETE FROM user_links WHERE user_id = ${id} AND purpose = ${purpose}
      AND token_hash = ${tokenHash(reader.secrets, token)} RETURNING email`,
  );
  if (user === undefined || link === undefined) throw voidLink();
  return { user, email: link.email };
}

/** Invalidates the user's links, all or one purpose. */
export async function deleteLinks(
  tx: Transaction,
  user_id: number,
  purpose?: Purpose,
): Promise<void> {
  await tx.run(
    sql`DELETE FROM user_links WHERE user_id = ${user_id}
      ${
        purpose === undefined
          ? empty
          : sql`AND
      purpose = ${purpose}`
      }`,
  );
}

function tokenHash(secrets: Reader['secrets'], token: string): Buffer {
  return secrets.hash(`user link ${token}`);
}

function voidLink(): ApiError {
  return invalid(
    'token',
    'expired',
    'This link was used already, has expired, or was replaced by a newer one. Request a new one.',
  );
}
