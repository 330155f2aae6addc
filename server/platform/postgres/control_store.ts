import sql from 'sql-template-tag';
import { commandLine } from '../command_line.ts';
import { ControlStoreError } from './control_store_error.ts';
import type { Database } from './database.ts';
import { judgeEpoch } from './epoch.ts';
import type { Epoch } from './epoch.ts';

const version_min = 150_000;

/** The record of the current primary. */
export type NotedPrimary = Epoch & {
  /** When it was first recorded (ISO 8601). */
  since: string;
  /** Bytes of the log that the previous primary had confirmed and this one never had. */
  lost_bytes: number;
};

/** Throws `ControlStoreError` for a PostgreSQL that is too old. */
export async function requireVersion(db: Database): Promise<void> {
  const row = await db.row<{ number: number; name: string }>(sql`
    SELECT current_setting('server_version_num')::int AS number,
      current_setting('server_version') AS name`);
  if (row!.number < version_min)
    throw new ControlStoreError(
      `Sluice needs PostgreSQL 15 or newer, and SLUICE_DATABASE_URL names ${row!.name}.`,
    );
}

/**
 * Records the primary of the database, once for all processes. Returns the previous one if a
 * standby was promoted since. `lost_bytes`: the loss that this process knows of. Throws
 * `ControlStoreError` if the database was moved here from another PostgreSQL without notice, unless
 * `accepts`.
 */
export async function notePrimary(
  db: Database,
  { accepts = false, lost_bytes = 0 }: { accepts?: boolean; lost_bytes?: number } = {},
): Promise<NotedPrimary | undefined> {
  const present = await findPrimary(db);
  // A change waits for a configured standby; most starts have nothing to record.
  if (judgeEpoch(db.epoch(), present) === 'same' && present !== undefined)
    if (lost_bytes <= present.lost_bytes) return undefined;
  return db.transaction(async (tx) => {
    await tx.run(sql`INSERT INTO server_facts (name, value) VALUES ('control_store', '{}')
      ON CONFLICT DO NOTHING`);
    const row = await tx.row<{ value: NotedPrimary | Record<string, never>; now: string }>(sql`
      SELECT value, wire_instant(now()) AS now FROM server_facts WHERE name = 'control_store'
      FOR UPDATE`);
    const found = db.epoch();
    if (found === undefined) return undefined;
    const noted = 'timeline' in row!.value ? (row!.value as NotedPrimary) : undefined;
    const judgement = judgeEpoch(found, noted);
    if (!accepts) refuseMoved(found, noted);
    const isSame = noted !== undefined && judgement === 'same';
    if (isSame && lost_bytes <= noted.lost_bytes) return undefined;
    const value: NotedPrimary = isSame
      ? { ...noted, lost_bytes }
      : { ...found, since: row!.now, lost_bytes };
    await tx.run(sql`UPDATE server_facts SET value = ${JSON.stringify(value)}::jsonb
      WHERE name = 'control_store'`);
    return judgement === 'later' ? noted : undefined;
  });
}

/** Throws `ControlStoreError` in the same cases as `notePrimary`, and records nothing. */
export async function requireUnmoved(db: Database): Promise<void> {
  const noted = await findPrimary(db);
  refuseMoved(db.epoch(), noted);
}

/**
 * Finds the record, or undefined before the first start and for servers that do not report an
 * epoch.
 */
export async function findPrimary(db: Database): Promise<NotedPrimary | undefined> {
  const row = await db.row<{ value: NotedPrimary }>(sql`
    SELECT value FROM server_facts WHERE name = 'control_store' AND value ? 'timeline'`);
  return row?.value;
}

function refuseMoved(found: Epoch | undefined, noted: Epoch | undefined): void {
  if (found === undefined || noted === undefined) return;
  const judgement = judgeEpoch(found, noted);
  if (judgement !== 'other' && judgement !== 'earlier') return;
  const name = ({ system_identifier, timeline }: Epoch) =>
    `${system_identifier}, timeline ${timeline}`;
  throw new ControlStoreError(
    'The database of SLUICE_DATABASE_URL was last used in another PostgreSQL (system ' +
      `identifier ${name(noted)}) than now (${name(found)}). If another server still uses ` +
      'that database, this server would deliver everything again. If this PostgreSQL ' +
      'replaces the other one (after pg_upgrade, or from a dump), confirm it once with ' +
      `\`${commandLine('migrate --accept-store postgres')}\`.`,
  );
}

/**
 * Counts the bytes of the log, confirmed by an earlier primary up to `position`, that this primary
 * lacks. 0 if none is missing or the server does not report it.
 */
export async function countLost(db: Database, position: string): Promise<number> {
  // The end of replay of a promoted standby, until it restarts.
  const row = await db
    .row<{ lost: number }>(sql`SELECT coalesce(greatest(0, pg_wal_lsn_diff(${position}::pg_lsn,
      pg_last_wal_replay_lsn())), 0)::float8 AS lost`)
    .catch(() => undefined);
  return row?.lost ?? 0;
}

/** PostgreSQL's report on its standbys. */
export type Standbys = {
  /** `synchronous_standby_names`; empty if commits wait for none. */
  wanted: string;
  /** `synchronous_commit`. */
  commit: string;
  /** Number of connected standbys that commits wait for; null if this user may not see it. */
  present: number | null;
};

/** Reads PostgreSQL's report on its standbys; `present` needs the role pg_monitor. */
export async function readStandbys(db: Database): Promise<Standbys> {
  const row = await db.row<Standbys>(sql`
    SELECT current_setting('synchronous_standby_names') AS wanted,
      current_setting('synchronous_commit') AS commit,
      (SELECT CASE WHEN bool_or(sync_state IS NULL) THEN NULL
        ELSE count(*) FILTER (WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming')
        END FROM pg_stat_replication)::int AS present`);
  return row!;
}

/**
 * Judges whether an acknowledged commit is also on a standby. `synchronous` means yes. Otherwise
 * the awaited standby is disconnected (`missing`), none is configured (`none`), or the setting does
 * not wait long enough (`unsafe`). `unknown`: this user may not see it.
 */
export function judgeStandbys({ wanted, commit, present }: Standbys) {
  if (wanted === '') return 'none';
  if (commit !== 'on' && commit !== 'remote_apply') return 'unsafe';
  if (present === null) return 'unknown';
  return present > 0 ? 'synchronous' : 'missing';
}
