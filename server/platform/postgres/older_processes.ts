import semver from 'semver';
import sql from 'sql-template-tag';
import { release } from '../version.ts';
import type { Database } from './database.ts';

/** The role of a process in a deployment. */
type Role = 'server' | 'api' | 'worker' | 'command';

/** Thrown if a migration would break running processes. */
export class OlderProcessError extends Error {
  constructor(migration: string, oldest_release: string, processes: string[]) {
    super(
      `The migration ${migration} removes parts of the database that processes older than ` +
        `${oldest_release} need. These are connected: ${processes.join(', ')}. Nothing was ` +
        `changed. Stop them, or upgrade them to ${oldest_release} first; then start this one ` +
        'again.',
    );
    this.name = 'OlderProcessError';
  }
}

/** Returns the name of a process for PostgreSQL and other processes: its role and its release. */
export function applicationOf(role: Role, own = release): string {
  return `sluice-${role} ${own}`;
}

/**
 * Rejects with `OlderProcessError` while a server or worker older than the release is connected.
 * Processes older than 1.0.0 do not report their release, and count as older.
 */
export async function requireNoOlderProcess(
  db: Database,
  migration: string,
  oldest_release: string,
): Promise<void> {
  const rows = await db.rows<{ name: string }>(sql`
    SELECT DISTINCT application_name AS name FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name ~ '^sluice-(server|api|worker)( |$)' ORDER BY 1`);
  const older = rows.flatMap(({ name }) => {
    const [, told] = name.split(' ');
    return semver.lt(told ?? '0.0.0', oldest_release) ? [name] : [];
  });
  if (older.length > 0) throw new OlderProcessError(migration, oldest_release, older);
}
