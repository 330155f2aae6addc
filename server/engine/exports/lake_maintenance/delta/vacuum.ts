import sql from 'sql-template-tag';
import { decodedPath } from '../../../destinations/lake/delta_log/actions.ts';
import { milliseconds } from '../../../destinations/lake/delta_log/interval.ts';
import { isInTable } from '../../../destinations/lake/delta_log/live_files.ts';
import { refresh } from '../../../destinations/lake/delta_log/log.ts';
import { lastPart } from '../../../destinations/formats/naming.ts';
import { eachOf } from '../reached_files.ts';
import { deliveryEndOf } from '../remove_expired_files.ts';
import type { DeltaTable } from './delta_table.ts';

/** No write takes longer; a younger file may still be committed. */
const write_ms_max = 3 * 24 * 3_600_000;
const week_ms = 7 * 24 * 3_600_000;

const compacted_name =
  /^compacted-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.parquet$/;

/** Returns true for the name of a data file by this server, with or without a partition folder. */
export function isOurs(name: string): boolean {
  const isFolder = (folder: string) => folder.includes('=');
  if (!name.split('/').slice(0, -1).every(isFolder)) return false;
  return compacted_name.test(lastPart(name)) || deliveryEndOf(name) !== undefined;
}

/** Numbers of removed files that had left the table, and of files that never were in it. */
export type Vacuumed = { removed: number; orphans: number };

/**
 * Removes data files that left the table longer ago than its retention, and orphans. An orphan is
 * ours by name and older than the longest write; no version of the log names it. Guarantee: all
 * files that the table shows or a run in progress needs stay. With `at_once`, it removes all files
 * that left and orphans of any age; undefined if a run in progress needs some.
 */
export async function vacuum(
  one: DeltaTable,
  { at_once = false } = {},
): Promise<Vacuumed | undefined> {
  const { world, state, engine, rules } = one;
  if (!rules.removes_files) return { removed: 0, orphans: 0 };
  const found: string[] = [];
  // Lists the folder first: a file that is named later is no orphan.
  for await (const name of world.log.files.listAll(world.folder))
    found.push(name.slice(world.folder.length + 1));
  await refresh(world.log, state);
  const now = engine.clock.now();
  const text = state.metaData?.configuration['delta.deletedFileRetentionDuration'];
  const kept_ms = at_once ? -Infinity : (milliseconds(text) ?? week_ms);
  const live = new Set([...state.adds.keys()].map(decodedPath));
  const left = new Map(
    [...state.removes.values()].map(({ path, deletionTimestamp = 0 }) => [
      decodedPath(path),
      now - deletionTimestamp > kept_ms,
    ]),
  );
  const removed: string[] = [];
  const orphans: string[] = [];
  for (const name of found) {
    if (live.has(name) || !isInTable(name)) continue;
    const is_over = left.get(name);
    if (is_over === true) removed.push(name);
    if (is_over !== undefined || !isOurs(name)) continue;
    const at = (await world.log.files.writtenAt(`${world.folder}/${name}`)) ?? Infinity;
    if (at_once || at < now - write_ms_max) orphans.push(name);
  }
  if (await hasOpenRun(one, orphans)) {
    if (at_once) return undefined;
    orphans.splice(0);
  }
  const files = [...removed, ...orphans];
  await eachOf(files, (name) => {
    one.signal.throwIfAborted();
    return world.log.files.remove(`${world.folder}/${name}`);
  });
  return { removed: removed.length, orphans: orphans.length };
}

/** A retried run finds its files and shows them, so they must stay. */
async function hasOpenRun({ engine, team_id }: DeltaTable, names: string[]): Promise<boolean> {
  const ends = [...new Set(names.map(deliveryEndOf).filter((end) => end !== undefined))];
  if (ends.length === 0) return false;
  const row = await engine.db.row(sql`SELECT 1 FROM batch_export_runs
    WHERE team_id = ${team_id} AND status IN ('Starting', 'Running')
      AND right(delivery_id::text, 12) = ANY (${ends}::text[]) LIMIT 1`);
  return row !== undefined;
}
