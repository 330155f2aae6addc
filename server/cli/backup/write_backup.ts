import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { version } from '../../platform/version.ts';
import type { CommandContext } from '../command_context.ts';
import type { Stores } from '../stores/stores.ts';
import { copyAnalytics, findCut } from './analytics_copy.ts';
import { controlFolder, copyControl } from './control_copy.ts';
import { filesOf, nameOf, writeManifest } from './manifest.ts';
import type { Manifest, Stretch } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';
import { openTelling } from './telling.ts';
import { forgetUnfinished, keepUnfinished, removeControl } from './unfinished.ts';

/** A copy that took longer is followed by one of what came in meanwhile. */
const long_copy_ms = 20_000;
const copies_max = 4;
/** After a kill so much is written again at most. */
const keep_ms = 2_000;

/** A backup that was created, and what of it was new. */
export type CreatedBackup = { manifest: Manifest; new_files: number; new_bytes: number };

/** The parts of a backup, and its place; `known` was written before. */
export type Writing = {
  config: CommandContext['config'];
  place: BackupPlace;
  stores: Stores;
  db: Database;
  clickhouse: ClickHouse;
  known: Stretch[];
  server: string;
  keys: readonly string[];
  passphrase: string;
  rows_per_file: number;
};

/** Writes all of a backup, its manifest last; the caller keeps every other one away. */
export async function writeBackup(writing: Writing): Promise<CreatedBackup> {
  const { place, stores, clickhouse, server } = writing;
  const tell = openTelling();
  const copying = openCopying(writing, tell);
  const cut = await copying.toCut();
  const taken_at = isoInstant(cut);
  const folder = controlFolder(nameOf(taken_at));
  const before = new Set(writing.known.flatMap(({ file }) => file?.name ?? []));
  await copying.note(folder);
  let control;
  try {
    control = await copyControl(stores.database_url, place, folder, tell);
    // Rows that the control store lists as removed must be removed from the older copies.
    await copying.copy(cut);
  } catch (error) {
    // On a full disk the next backup needs the room. If this fails too, the next backup removes it.
    await removeControl(place, folder, undefined).catch(() => {});
    throw error;
  }
  const manifest: Manifest = {
    version: 1,
    release: version,
    server,
    taken_at,
    finished_at: isoInstant(systemClock.now()),
    analytics_migrations: await analyticsMigrations(clickhouse),
    ...control,
    stretches: copying.stretches(),
  };
  await writeManifest(place, manifest, writing);
  await forgetUnfinished(place);
  const fresh = filesOf(manifest).filter(({ name }) => !before.has(name));
  return {
    manifest,
    new_files: fresh.length,
    new_bytes: fresh.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/**
 * Copies the analytics store, again and again as it grows. Word of what is written, with what was
 * there before, is kept every few seconds, and when a copy ends with a fault.
 */
function openCopying(writing: Writing, tell: (line: string) => void) {
  const { place, db, clickhouse, server, rows_per_file: rows } = writing;
  let stretches = writing.known;
  let control: string | undefined;
  const keepNow = (safe: Stretch[]) => {
    // Existing files are listed first: if both have a range, the existing one counts.
    const files = new Set(safe.flatMap(({ file }) => file?.name ?? []));
    const others = stretches.filter(({ file }) => file !== null && !files.has(file.name));
    return keepUnfinished(place, server, { stretches: [...others, ...safe], control });
  };
  const copy = async (cut: number) => {
    let kept_at = -Infinity;
    let latest: Stretch[] = [];
    const keep = async (safe: Stretch[]) => {
      latest = safe;
      if (performance.now() - kept_at < keep_ms) return;
      await keepNow(safe);
      kept_at = performance.now();
    };
    try {
      stretches = await caughtUp(clickhouse, row_tables, () =>
        copyAnalytics(
          { clickhouse, place, rows_per_file: rows, tell, keep },
          stretches,
          cut * 1_000,
        ),
      );
    } catch (error) {
      await keepNow(latest).catch(() => {});
      throw error;
    }
  };
  return {
    copy,
    stretches: () => stretches,
    /** Copies until little can have come meanwhile, and gives the cut (milliseconds). */
    toCut: async () => {
      for (let copies = 1; ; copies += 1) {
        const began = performance.now();
        const cut = await findCut(db, writing.config.settle_seconds);
        await copy(cut);
        if (performance.now() - began < long_copy_ms || copies === copies_max) return cut;
      }
    },
    /** Keeps word of the folder of the control store, before anything is in it. */
    note: async (folder: string) => {
      control = folder;
      await keepNow(stretches);
    },
  };
}

async function analyticsMigrations(clickhouse: ClickHouse): Promise<string[]> {
  const found = await clickhouse.rows<{ name: string }>({
    query: 'SELECT name FROM migrations ORDER BY name',
  });
  return found.map(({ name }) => name);
}
