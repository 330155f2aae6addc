import { openCopySession } from '../../platform/postgres/copy.ts';
import type { CopySession } from '../../platform/postgres/copy.ts';
import { UserError } from '../user_error.ts';
import { readFile } from './backup_file.ts';
import { requireKnownSchema } from './known_schema.ts';
import { listBackups, openBackupKeys, readManifest } from './manifest.ts';
import type { KnownBackup, Manifest } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';

/** An erasure in a later backup of the place that the restored one does not have. */
export type LaterErasure = {
  id: string;
  team_id: number;
  kind: 'persons' | 'events';
  late_events: 'refuse' | 'anonymize';
  is_finished: boolean;
};

/** A project, user or organization that was deleted after the restored backup, and exists again. */
export type BackAgain = { kind: 'project' | 'user' | 'organization'; name: string };

/** Knowledge of later backups about deleted data. */
export type LaterKnown = {
  erasures: LaterErasure[];
  back: BackAgain[];
  /** The newest instant that one of them, or the restored one, covers. */
  until: string;
  /** Sentences about unreadable backups. */
  unread: string[];
};

const tables = ['erasures', 'erased_ids', 'removals', 'deletions'] as const;

/**
 * Enters the erasures of later backups into a restored control store of this release, with their
 * certificates and the hashes by which late events are refused. Skips projects that were created
 * later. A backup that cannot be read, or that the passphrase does not open, is reported and
 * skipped.
 */
export async function enterLaterErasures(
  database_url: string,
  { place, backup, passphrase }: { place: BackupPlace; backup: KnownBackup; passphrase: string },
): Promise<LaterKnown> {
  const { control_taken_at: until } = backup.manifest;
  const known: LaterKnown = { erasures: [], back: [], until, unread: [] };
  const names = (await listBackups(place)).filter((name) => name > backup.name);
  if (names.length === 0) return known;
  const session = await openCopySession(database_url, 'load');
  try {
    for (const name of tables)
      await session.rows(`CREATE TEMP TABLE later_${name} (LIKE ${name} INCLUDING DEFAULTS)`);
    // The newest first, because it has the final state of an erasure.
    for (const name of names.toReversed()) {
      const later = await openLater(place, name, passphrase, known.unread);
      if (later === undefined || later.server !== backup.manifest.server) continue;
      for (const table of tables) await fill(session, place, later, table);
      known.erasures.push(...(await enter(session)));
      known.back.push(...(await listBack(session)));
      if (later.control_taken_at > known.until) known.until = later.control_taken_at;
    }
    await session.commit();
  } finally {
    await session.close();
  }
  const back = new Map(known.back.map((one) => [`${one.kind} ${one.name}`, one]));
  return { ...known, back: [...back.values()] };
}

/** Returns the manifest if all needed files are intact. */
async function openLater(
  place: BackupPlace,
  name: string,
  passphrase: string,
  unread: string[],
): Promise<Manifest | undefined> {
  try {
    const later = await readManifest(place, name);
    // A backup that was written without the passphrase must not cause erasures.
    await openBackupKeys(place, later, passphrase);
    requireKnownSchema(later.manifest);
    for (const { file } of wantedOf(later.manifest))
      if (file !== null) for await (const _ of await readFile(place, file));
    return later.manifest;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    unread.push(
      `The later backup ${name} was not checked for erasures. ${error.message} Erasures that ` +
        'only this backup has are not repeated.',
    );
    return undefined;
  }
}

function wantedOf(manifest: Manifest): Manifest['tables'] {
  return manifest.tables.filter(({ name }) => tables.some((table) => table === name));
}

async function fill(
  session: CopySession,
  place: BackupPlace,
  manifest: Manifest,
  table: (typeof tables)[number],
): Promise<void> {
  await session.rows(`TRUNCATE later_${table}`);
  const found = wantedOf(manifest).find(({ name }) => name === table);
  if (found === undefined || found.file === null) return;
  const into = { name: `later_${table}`, columns: found.columns };
  await session.copyIn(into, await readFile(place, found.file));
}

/** Erasures of the restored backup stay unchanged; unfinished ones restart. */
async function enter(session: CopySession): Promise<LaterErasure[]> {
  await session.rows(`UPDATE later_erasures later SET created_by = NULL
    WHERE NOT EXISTS (SELECT 1 FROM users WHERE id = later.created_by)`);
  // A project of another organization got the same number after the backup.
  await session.rows(`DELETE FROM later_erasures later WHERE NOT EXISTS (SELECT 1 FROM projects
    WHERE id = later.team_id AND organization_id = later.organization_id)`);
  const entered = await session.rows<LaterErasure>(`
    INSERT INTO erasures SELECT * FROM later_erasures ON CONFLICT DO NOTHING
    RETURNING id, team_id, kind, late_events, finished_at IS NOT NULL AS is_finished`);
  await session.rows(`
    INSERT INTO erased_ids SELECT * FROM later_erased_ids later
    WHERE EXISTS (SELECT 1 FROM erasures
      WHERE id = later.erasure_id AND team_id = later.team_id)
    ON CONFLICT DO NOTHING`);
  return entered;
}

function listBack(session: CopySession): Promise<BackAgain[]> {
  return session.rows<BackAgain>(`
    SELECT 'project' AS kind, id || ' (' || name || ')' AS name FROM projects
    WHERE (id, organization_id) IN (SELECT team_id, organization_id FROM later_removals)
    UNION ALL SELECT 'organization', id || ' (' || name || ')' FROM organizations
    WHERE id IN (SELECT id FROM later_deletions WHERE kind = 'organization')
    UNION ALL SELECT 'user', email FROM users
    WHERE uuid IN (SELECT id FROM later_deletions WHERE kind = 'user') ORDER BY 1, 2`);
}
