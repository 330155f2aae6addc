import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { openCopySession, withoutReferences } from '../../platform/postgres/copy.ts';
import type { CopySession } from '../../platform/postgres/copy.ts';
import { readFile, writeFile } from './backup_file.ts';
import type { BackupFile, ControlTable, Manifest } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';
import { counted } from '../../platform/counted.ts';

/**
 * Tables about processes and browsers, which a backup leaves out: a restored server has other
 * processes, and everybody signs in again. Salts of visitors must be deleted everywhere after their
 * day.
 */
const left_out = new Set(['workers', 'rate_counts', 'insert_pace', 'sessions', 'visitor_salts']);

/** The control store's part of a manifest. */
type ControlCopy = Pick<Manifest, 'control_taken_at' | 'migrations' | 'tables' | 'sequences'>;

/**
 * Returns a folder for one copy of the control store. Two backups can have the same name if no
 * event arrives in between, and must not share files.
 */
export function controlFolder(backup: string): string {
  return `control/${backup}-${randomUUID().slice(0, 8)}/`;
}

/**
 * Copies the control store as of one instant, each table into a file of the folder. It blocks
 * nothing and changes nothing.
 */
export async function copyControl(
  url: string,
  place: BackupPlace,
  folder: string,
  tell: (line: string) => void,
): Promise<ControlCopy> {
  const session = await openCopySession(url, 'snapshot');
  try {
    const [at] = await session.rows<{ now: string }>(
      `SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS now`,
    );
    const all = await session.tables();
    const tables: ControlTable[] = [];
    for (const table of all.filter(({ name }) => !left_out.has(name) && name !== 'migrations')) {
      tables.push(await copyTable(session, place, folder, table));
      tell(`control store: ${tables.length} of ${all.length} tables`);
    }
    return {
      control_taken_at: at!.now,
      tables,
      migrations: await session.rows('SELECT name, sha256 FROM migrations ORDER BY name'),
      sequences: await sequencesOf(session),
    };
  } finally {
    await session.close();
  }
}

async function copyTable(
  session: CopySession,
  place: BackupPlace,
  folder: string,
  { name, columns }: { name: string; columns: string[] },
): Promise<ControlTable> {
  const [found] = await session.rows<{ has_rows: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM "${name}") AS has_rows`,
  );
  if (found?.has_rows !== true) return { name, columns, rows: 0, file: null };
  const { bytes, count } = session.copyOut({ name, columns });
  const file = await writeFile(place, `${folder}${name}.copy.zst`, bytes);
  return { name, columns, rows: count(), file };
}

async function sequencesOf(session: CopySession): Promise<Manifest['sequences']> {
  const rows = await session.rows<{ name: string; last_value: string }>(`
    SELECT sequencename AS name, last_value FROM pg_sequences
    WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY sequencename`);
  return rows.map(({ name, last_value }) => ({ name, last_value: Number(last_value) }));
}

/**
 * Fills an empty control store with the backup's schema. Guarantee: all counted rows are there
 * afterwards, or none. With `compares`, reads each table again and compares it byte for byte.
 */
export async function fillControl(
  url: string,
  place: BackupPlace,
  { tables, sequences }: Pick<Manifest, 'tables' | 'sequences'>,
  { compares, tell }: { compares: boolean; tell: (line: string) => void },
): Promise<void> {
  const session = await openCopySession(url, 'load');
  try {
    // Migrations may have inserted rows that the backup has too.
    const names = tables.map(({ name }) => `"${name}"`).join(', ');
    await session.rows(`TRUNCATE ${names} CASCADE`);
    let done = 0;
    await withoutReferences(session, async () => {
      for (const table of tables) {
        if (table.file !== null) await fillTable(session, place, table, table.file);
        if (compares && table.file !== null) await compareTable(session, place, table, table.file);
        done += 1;
        tell(`control store: ${done} of ${tables.length} tables`);
      }
    });
    for (const { name, last_value } of sequences)
      await session.rows('SELECT setval($1::regclass, $2)', [`"${name}"`, last_value]);
    await session.commit();
  } finally {
    await session.close();
  }
}

async function fillTable(
  session: CopySession,
  place: BackupPlace,
  table: ControlTable,
  file: BackupFile,
): Promise<void> {
  const rows = await session.copyIn(table, await readFile(place, file));
  if (rows !== table.rows)
    throw new Error(`The table ${table.name} received ${rows} of ${counted(table.rows, 'row')}.`);
}

/** A newly filled table returns its rows in the order of insertion. */
async function compareTable(
  session: CopySession,
  place: BackupPlace,
  table: ControlTable,
  file: BackupFile,
): Promise<void> {
  const [wanted, found] = [
    await digestOf(await readFile(place, file)),
    await digestOf(session.copyOut(table).bytes),
  ];
  if (wanted !== found) throw new Error(`The table ${table.name} differs from the backup.`);
}

async function digestOf(bytes: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
