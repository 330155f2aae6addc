import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { RowTable } from '../../engine/model/removals/delete_rows.ts';
import { readInstant } from '../client/read_options.ts';
import { UserError } from '../user_error.ts';
import { openKeys, sealKeys } from './passphrase.ts';
import type { SealedKeys } from './passphrase.ts';
import type { BackupPlace } from './places/place.ts';

/** A file of a backup, with the size and hash of its bytes. Without rows there is none. */
export type BackupFile = { name: string; bytes: number; sha256: string };

/** A whole table of the control store, in PostgreSQL's text format. */
export type ControlTable = {
  name: string;
  columns: string[];
  rows: number;
  file: BackupFile | null;
};

/**
 * Rows of a table that were inserted in `[from, to)`, microseconds since the epoch, in ClickHouse's
 * Native format. Such rows never change, and none is added: they can only be removed.
 */
export type Stretch = {
  table: RowTable;
  from: number;
  to: number;
  columns: string[];
  rows: number;
  file: BackupFile | null;
};

/**
 * The content of a backup. `taken_at`: it has all rows of the analytics store inserted before this
 * instant, and none after it. `control_taken_at`: the instant of the control store, never earlier.
 */
export type Manifest = {
  version: 1;
  release: string;
  /** The server of this backup, identified by the key that checks its receipts. */
  server: string;
  taken_at: string;
  control_taken_at: string;
  finished_at: string;
  migrations: { name: string; sha256: string }[];
  analytics_migrations: string[];
  tables: ControlTable[];
  sequences: { name: string; last_value: number }[];
  stretches: Stretch[];
};

/** A backup whose manifest exists and is intact. */
export type KnownBackup = {
  name: string;
  manifest: Manifest;
  keys: SealedKeys;
  are_keys_summed: boolean;
};

const folder = 'backups/';

/** Returns the name of the backup of an instant; names sort by time. */
export function nameOf(takenAt: string): string {
  return new Date(takenAt).toISOString().replaceAll(/[-:.]/g, '');
}

/**
 * Writes the manifest: from then on, the backup exists. Its text and the sealed keys have their own
 * hashes, and the keys open only together with the hash of the text.
 */
export async function writeManifest(
  place: BackupPlace,
  manifest: Manifest,
  secret: { keys: readonly string[]; passphrase: string },
): Promise<void> {
  const body = JSON.stringify(manifest);
  const sha256 = hash('sha256', body);
  const keys = await sealKeys(secret.keys, secret.passphrase, sha256);
  const keys_sha256 = hash('sha256', JSON.stringify(keys));
  const whole = JSON.stringify({ sha256, keys_sha256, keys, body });
  await place.write(`${folder}${nameOf(manifest.taken_at)}.json`, Readable.from([whole]));
}

/** Lists the names of the existing backups, oldest first. */
export async function listBackups(place: BackupPlace): Promise<string[]> {
  const names: string[] = [];
  for await (const name of place.list(folder)) {
    const found = /^backups\/(\d{8}T\d{9}Z)\.json$/.exec(name)?.[1];
    if (found !== undefined) names.push(found);
  }
  return names.sort();
}

/** Reads a backup's manifest. Throws a `UserError` if it is damaged. */
export async function readManifest(place: BackupPlace, name: string): Promise<KnownBackup> {
  const damaged = new UserError(
    `The backup ${name} in ${place.name} is damaged: its manifest has changed. ` +
      'Restore another one (--to an earlier time); to create backups there again, move ' +
      `${folder}${name}.json away.`,
  );
  const content = await place.read(`${folder}${name}.json`);
  if (content === undefined) throw damaged;
  try {
    const { sha256, keys_sha256, keys, body } = JSON.parse(await text(content)) as {
      sha256: string;
      /** Missing in backups of older releases. */
      keys_sha256?: string;
      keys: SealedKeys;
      body: string;
    };
    if (hash('sha256', body) !== sha256) throw damaged;
    const are_keys_summed = keys_sha256 !== undefined;
    if (are_keys_summed && hash('sha256', JSON.stringify(keys)) !== keys_sha256) throw damaged;
    return { name, manifest: JSON.parse(body) as Manifest, keys, are_keys_summed };
  } catch {
    throw damaged;
  }
}

/** Returns the newest backup, or the newest one at or before an instant. */
export async function chooseBackup(place: BackupPlace, to?: string): Promise<KnownBackup> {
  const names = await listBackups(place);
  if (names.length === 0)
    throw new UserError(`There is no complete backup in ${place.name}. Name another place.`);
  const until = to === undefined ? undefined : nameOf(readInstant('--to', to));
  const before = until === undefined ? names : names.filter((name) => name <= until);
  const name = before.at(-1);
  if (name === undefined)
    throw new UserError(
      `No backup in ${place.name} is as old as ${to}; the oldest one is ${names[0]}.`,
    );
  return readManifest(place, name);
}

/** Returns the files that a backup needs. */
export function filesOf({
  tables,
  stretches,
}: Pick<Manifest, 'tables' | 'stretches'>): BackupFile[] {
  return [...tables, ...stretches].flatMap(({ file }) => file ?? []);
}

/** Returns the secret keys of a backup. Throws a `UserError` if the passphrase is wrong. */
export async function openBackupKeys(
  place: BackupPlace,
  { name, manifest, keys, are_keys_summed }: KnownBackup,
  passphrase: string,
): Promise<string[]> {
  const opened = await openKeys(keys, passphrase, hash('sha256', JSON.stringify(manifest)));
  if (opened === undefined)
    throw new UserError(
      `The passphrase does not open the backup ${name} in ${place.name}. Enter the right ` +
        'one, with SLUICE_BACKUP_PASSPHRASE or --passphrase-file.' +
        (are_keys_summed
          ? ''
          : ' If it is the right one, the keys in this backup of an older release are damaged: ' +
            'restore another one.'),
    );
  return opened;
}

/** Deletes the manifest: the backup no longer exists. */
export async function removeManifest(place: BackupPlace, name: string): Promise<void> {
  await place.remove(`${folder}${name}.json`);
}
