import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { sweepAttempts } from '../../platform/pacing/throttle.ts';
import { isoInstant } from '../../platform/clock.ts';
import { device_kept_ms } from '../../platform/http/caller/device.ts';
import { session_idle_ms } from '../../platform/http/caller/session.ts';

/**
 * Removes what no longer counts: sessions, links and answered challenges that have ended, browsers
 * that were not used for 400 days, and series of attempts that are forgotten. Harmless at any time
 * and on several processes at once.
 */
export async function sweepPeople(deps: Pick<Deps, 'db' | 'clock'>): Promise<void> {
  const now = deps.clock.now();
  // Reads every session, of which there are few; the look-up has refused the ended ones all along.
  await deps.db.run(sql`
    DELETE FROM sessions WHERE expires_at <= ${isoInstant(now)}::timestamptz
      OR last_used_at < ${isoInstant(now - session_idle_ms)}::timestamptz`);
  await deps.db.run(
    sql`DELETE FROM user_links WHERE expires_at <= ${isoInstant(now)}::timestamptz`,
  );
  await deps.db.run(
    sql`DELETE FROM passkey_challenges WHERE expires_at <= ${isoInstant(now)}::timestamptz`,
  );
  // Leans on sign_in_devices_by_age.
  await deps.db.run(
    sql`DELETE FROM sign_in_devices
      WHERE last_seen_at < ${isoInstant(now - device_kept_ms)}::timestamptz`,
  );
  await sweepAttempts(deps);
}
