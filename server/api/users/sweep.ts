import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { sweepAttempts } from '../../platform/pacing/throttle.ts';
import { isoInstant } from '../../platform/clock.ts';
import { device_kept_ms } from '../../platform/http/caller/device.ts';
import { session_idle_ms } from '../../platform/http/caller/session.ts';

/**
 * Deletes expired data: sessions, links and answered challenges that have ended, browsers unused
 * for 400 days, and old series of attempts. It is safe at any time and on several processes at
 * once.
 */
export async function sweepPeople(deps: Pick<Deps, 'db' | 'clock'>): Promise<void> {
  const now = deps.clock.now();
  // Reads all sessions, because they are few; ended sessions are already refused.
  await deps.db.run(sql`
    DELETE FROM sessions WHERE expires_at <= ${isoInstant(now)}::timestamptz
      OR last_used_at < ${isoInstant(now - session_idle_ms)}::timestamptz`);
  await deps.db.run(
    sql`DELETE FROM user_links WHERE expires_at <= ${isoInstant(now)}::timestamptz`,
  );
  await deps.db.run(
    sql`DELETE FROM passkey_challenges WHERE expires_at <= ${isoInstant(now)}::timestamptz`,
  );
  // Uses sign_in_devices_by_age.
  await deps.db.run(
    sql`DELETE FROM sign_in_devices
      WHERE last_seen_at < ${isoInstant(now - device_kept_ms)}::timestamptz`,
  );
  await sweepAttempts(deps);
}
