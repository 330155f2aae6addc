import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Database } from '../../platform/postgres/database.ts';

/** Deletes expired rows. Uses the indexes by expiry. */
export async function sweepSingleSignOn({
  db,
  clock,
}: {
  db: Database;
  clock: Deps['clock'];
}): Promise<void> {
  const now = isoInstant(clock.now());
  await db.run(sql`DELETE FROM sso_requests WHERE expires_at <= ${now}::timestamptz`);
  await db.run(sql`DELETE FROM saml_assertions WHERE expires_at <= ${now}::timestamptz`);
  await db.run(sql`DELETE FROM sign_in_links WHERE expires_at <= ${now}::timestamptz`);
}
