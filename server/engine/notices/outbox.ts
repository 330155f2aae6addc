import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { DueDelivery } from './claim.ts';
import type { NoticeService } from './notice.ts';
import { urlContext } from './webhook_url.ts';

/** The kinds of targets that notices are posted to. */
export type PostedType = 'webhook' | NoticeService;

/**
 * The receiver of a notice; `url_sealed` and `secret` are envelopes of `urlContext` and
 * `secretContext`.
 */
export type Target = { id: string; enabled: boolean } & (
  | { type: 'email'; address: string }
  | { type: PostedType; url_sealed: Buffer; secret: Buffer | null }
);

/**
 * Returns the address and the secret of a target; throws if this server's key does not open them.
 */
export function openTarget(
  secrets: Secrets,
  { id, url_sealed, secret }: Extract<Target, { url_sealed: Buffer }>,
): { url: string; secret: string | undefined } {
  return {
    url: secrets.open(url_sealed, urlContext(id)),
    secret: secret === null ? undefined : secrets.open(secret, secretContext(id)),
  };
}

/**
 * Why the server disabled a target: a code of a closed list, a sentence for people, and the time
 * (ISO 8601).
 */
export type DisabledReason = { code: 'gone'; detail: string; at: string };

/** The context under which a target's secret is sealed. */
export function secretContext(targetId: string): string {
  return `notice_targets:${targetId}:secret`;
}

/** Returns the current target. */
export function findTarget(db: Queryable, id: string): Promise<Target | undefined> {
  return db.row<Target>(
    sql`SELECT id, enabled, type, address, url_sealed, secret FROM notice_targets WHERE id = ${id}`,
  );
}

/** Returns true while the address belongs to an administrator of the project's organization. */
export async function isAdministrator(
  db: Queryable,
  team_id: number,
  address: string,
): Promise<boolean> {
  const row = await db.row(sql`
    SELECT 1 FROM projects p JOIN members m ON m.organization_id = p.organization_id
      AND m.level >= 8 JOIN users u ON u.id = m.user_id AND u.is_active
    WHERE p.id = ${team_id} AND u.email = ${address}`);
  return row !== undefined;
}

/**
 * Releases a delivery with an unknown result. It is due at once, without waiting for the lease to
 * expire.
 */
export async function releaseDelivery(
  { db, clock }: { db: Queryable; clock: Clock },
  due: DueDelivery,
): Promise<void> {
  await db.run(sql`
    UPDATE notice_deliveries SET is_under_way = false,
      next_attempt_at = ${isoInstant(clock.now())}::timestamptz
    WHERE id = ${due.id} AND attempts = ${due.attempts} AND is_under_way`);
}
