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

/** After a longer copy, the rows ingested meanwhile are copied too. */
const long_copy_ms = 20_000;
const copies_max = 4;
/** At most this much time is repeated after a kill. */
const keep_ms = 2_000;

/** A new backup, and its new parts. */
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

/** Writes a whole backup, its manifest last; the caller prevents any other backup meanwhile. */
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
    // Rows that the control store lists as removed must also be removed from older copies.
    await copying.copy(cut);
  } catch (error) {
    // On a full disk, the next backup needs the space. If this fails too, the next backup deletes
    // it.
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
 * Copies the analytics store repeatedly while it grows. Records the written and existing files
 * every few seconds, and when a copy fails.
 */
function openCopying(writing: Writing, tell: (line: string) => void) {
  const { place, db, clickhouse, server, rows_per_file: rows } = writing;
  let stretches = writing.known;
  let control: string | undefined;
  const keepNow = (safe: Stretch[]) => {
    // Existing files come first: if both have a range, the existing one counts.
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
    /** Copies until few rows can have arrived meanwhile, and returns the cut (milliseconds). */
    toCut: async () => {
      for (let copies = 1; ; copies += 1) {
        const began = performance.now();
        const cut = await findCut(db, writing.config.settle_seconds);
        await copy(cut);
        if (performance.now() - began < long_copy_ms || copies === copies_max) return cut;
      }
    },
    /** Records the folder of the control store before it has files. */
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
