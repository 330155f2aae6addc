import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { randomBase62 } from '../../platform/http/caller/api_key.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVerifiedDomain } from '../domains/store.ts';
import { findIdentityById, findUserByEmail } from '../users/store.ts';
import type { Identity } from '../users/store.ts';

const lifetime_ms = 15 * 60_000;

/**
 * A link that signs in, or why there is none: no active user has the address, or they are no
 * administrator of an organization.
 */
export type SignInLink =
  | { url: string; expires_at: string }
  | { refused: 'unknown' | 'not_an_administrator' };

/**
 * Creates a link that signs an administrator or owner in once within 15 minutes, even if single
 * sign-on is enforced; the one before becomes invalid. The log records it as an action of the
 * server, in the person's chain and in the chain of the organization whose enforcement it bypasses.
 */
export function createSignInLink(
  deps: Pick<Deps, 'db' | 'secrets' | 'clock' | 'config'>,
  email: string,
): Promise<SignInLink> {
  const { db, secrets, clock, config } = deps;
  return db.transaction(async (tx) => {
    const user = await findUserByEmail(tx, email);
    if (user === undefined || !user.is_active) return { refused: 'unknown' };
    const administers = await tx.row(
      sql`SELECT 1 FROM members WHERE user_id = ${user.id} AND level >= 8 LIMIT 1`,
    );
    if (administers === undefined) return { refused: 'not_an_administrator' };
    const token = randomBase62();
    const expires_at = isoInstant(clock.now() + lifetime_ms);
    await tx.run(sql`
      INSERT INTO sign_in_links (user_id, token_hash, expires_at)
        VALUES (${user.id}, ${hashOf(secrets, token)}, ${expires_at}::timestamptz)
      ON CONFLICT (user_id) DO UPDATE SET token_hash = EXCLUDED.token_hash,
        expires_at = EXCLUDED.expires_at`);
    const domain = await findVerifiedDomain(tx, config, user.email);
    const entry = {
      activity: 'let_in',
      scope: 'user',
      item_id: user.uuid,
      item_name: user.email,
      changes: changesOf(undefined, { expires_at }),
    };
    if (domain !== undefined && domain.sso_enforcement !== '')
      await appendActivity(
        tx,
        secrets,
        { organization_id: domain.organization_id },
        server_actor,
        entry,
      );
    await appendActivity(tx, secrets, { user_uuid: user.uuid }, server_actor, entry);
    return { url: `${config.public_url}/login/link?token=${token}`, expires_at };
  });
}

/**
 * Uses up the link and locks its user until the transaction ends; undefined for an unknown, used,
 * replaced or expired link, and for an inactive user. Of concurrent uses one succeeds.
 */
export async function useSignInLink(
  tx: Transaction,
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  token: string,
): Promise<Identity | undefined> {
  const link = await tx.row<{ user_id: number }>(
    sql`DELETE FROM sign_in_links WHERE token_hash = ${hashOf(secrets, token)}
      AND expires_at > ${isoInstant(clock.now())}::timestamptz RETURNING user_id`,
  );
  return link === undefined ? undefined : findIdentityById(tx, link.user_id, 'lock');
}

function hashOf(secrets: Deps['secrets'], token: string): Buffer {
  return secrets.hash(`sign-in link ${token}`);
}
