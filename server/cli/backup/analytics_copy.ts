import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { RowTable } from '../../engine/model/removals/delete_rows.ts';
import { settled } from '../../engine/ingest/lock.ts';
import { streamAnswer } from '../../platform/clickhouse/answer.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { ask, storedColumns } from '../stores/ask.ts';
import { writeFile } from './backup_file.ts';
import type { Stretch } from './manifest.ts';
import { presentFiles } from './places/place.ts';
import type { BackupPlace } from './places/place.ts';
import { counted } from '../../platform/counted.ts';

/** Rows in one file; rows of the same millisecond stay together, so a file can have more. */
export const rows_per_file = 250_000;

/** Number of consecutive small files after which they are rewritten: each backup leaves some. */
const small_files_max = 16;

/** Wait for a batch with an unknown outcome, which a worker resolves within seconds. */
const unsettled_seconds_max = 120;
const minute = 60_000_000;

/** Access to the analytics store, and the place of the copy. */
export type AnalyticsCopy = {
  clickhouse: ClickHouse;
  place: BackupPlace;
  rows_per_file: number;
  tell(line: string): void;
  /** Called when a stretch was written, with all written ones. */
  keep(stretches: Stretch[]): Promise<void>;
};

/**
 * Returns the instant (milliseconds) below which no row can appear in the analytics store, for all
 * projects. Tables that other programs fill get `settle_seconds` of delay.
 */
export async function findCut(db: Database, settle_seconds: number): Promise<number> {
  const deadline = performance.now() + unsettled_seconds_max * 1_000;
  const wanted = (await databaseInstant(db)) - settle_seconds * 1_000;
  for (;;) {
    const teams = await db.rows<{ id: number }>(sql`SELECT id FROM projects ORDER BY id`);
    let cut = wanted;
    for (const { id } of teams)
      cut = Math.min(cut, Date.parse(await db.transaction((tx) => settled(tx, id))));
    if (cut === wanted || performance.now() > deadline) return cut;
    await pause(1_000);
  }
}

/**
 * Copies all rows inserted before `until` (microseconds), except rows in `known` files whose counts
 * have not changed. Returns the stretches with all of these rows.
 */
export async function copyAnalytics(
  copy: AnalyticsCopy,
  known: Stretch[],
  until: number,
): Promise<Stretch[]> {
  const safe: Stretch[] = [];
  for (const table of row_tables) {
    const found = await stillRight(
      copy,
      table,
      known.filter((stretch) => stretch.table === table && stretch.to <= until),
    );
    safe.push(...found);
    await copy.keep(safe);
    const columns = await storedColumns(copy.clickhouse, table);
    for (const gap of gapsOf(found, until)) {
      const cuts = await cutGap(copy, table, gap);
      for (const [number, cut] of cuts.entries()) {
        safe.push(await copyStretch(copy, { table, columns, ...cut, file: null }));
        await copy.keep(safe);
        copy.tell(`${table}: ${number + 1} of ${counted(cuts.length, 'new file')}`);
      }
    }
  }
  return joinedEmpty(safe);
}

type Range = { from: number; to: number };

/**
 * Returns the known files that exist, do not overlap, and whose rows are all still in the store.
 */
async function stillRight(
  { clickhouse, place, rows_per_file: rows_max }: AnalyticsCopy,
  table: RowTable,
  known: Stretch[],
): Promise<Stretch[]> {
  const ordered = known.toSorted((one, other) => one.from - other.from || other.to - one.to);
  const apart: Stretch[] = [];
  const present = await presentFiles(
    place,
    ordered.flatMap(({ file }) => file ?? []),
  );
  for (const stretch of ordered) {
    if (stretch.from < (apart.at(-1)?.to ?? 0)) continue;
    if (stretch.file !== null && !present.has(stretch.file.name)) continue;
    apart.push(stretch);
  }
  const counts = await countIn(clickhouse, table, apart);
  const right = apart.filter((stretch) => (counts.get(stretch.from) ?? 0) === stretch.rows);
  return withoutPieces(right, rows_max);
}

/**
 * Leaves out runs of many small files (below half the largest size), which become a gap that is
 * copied again. Expects the files of one table, in order. So a backup may rewrite up to half a
 * file, and a restore does not read one file per backup.
 */
export function withoutPieces(stretches: Stretch[], rows_max: number): Stretch[] {
  const kept: Stretch[] = [];
  let pieces: Stretch[] = [];
  const settle = () => {
    if (pieces.filter(({ file }) => file !== null).length < small_files_max) kept.push(...pieces);
    pieces = [];
  };
  for (const stretch of stretches) {
    const isPiece = stretch.rows < rows_max / 2;
    if (!isPiece || pieces.at(-1)?.to !== stretch.from) settle();
    if (isPiece) pieces.push(stretch);
    else kept.push(stretch);
  }
  settle();
  return kept;
}

/** Counts the current rows of each range, by its start. */
async function countIn(
  clickhouse: ClickHouse,
  table: RowTable,
  ranges: Range[],
): Promise<Map<number, number>> {
  if (ranges.length === 0) return new Map();
  // Each range, and the gap after it, forms its own class.
  const bounds = [...new Set([0, ...ranges.flatMap(({ from, to }) => [from, to])])].sort(
    (one, other) => one - other,
  );
  const whole = { from: ranges[0]!.from, to: bounds.at(-1)! };
  const rows = await ask<{ bound: string; rows: string }>(
    clickhouse,
    `SELECT roundDown(toUnixTimestamp64Micro(inserted_at),
      CAST([${bounds.join(', ')}], 'Array(Int64)')) AS bound, count() AS rows
      FROM ${table} WHERE ${within(whole)} GROUP BY bound`,
  );
  return new Map(rows.map(({ bound, rows: count }) => [Number(bound), Number(count)]));
}

function gapsOf(stretches: Range[], until: number): Range[] {
  const gaps: Range[] = [];
  let from = 0;
  for (const stretch of stretches.toSorted((one, other) => one.from - other.from)) {
    if (stretch.from > from) gaps.push({ from, to: stretch.from });
    from = stretch.to;
  }
  if (from < until) gaps.push({ from, to: until });
  return gaps;
}

/** Divides a range so that each part has few enough rows for a file; returns the counts. */
async function cutGap(
  { clickhouse, rows_per_file: rows_max }: AnalyticsCopy,
  table: RowTable,
  gap: Range,
): Promise<(Range & { rows: number })[]> {
  const parts = [{ ...gap, rows: 0 }];
  const add = (step: { from: number; rows: number }) => {
    const last = parts.at(-1)!;
    if (last.rows === 0 || last.rows + step.rows <= rows_max) {
      last.rows += step.rows;
    } else {
      last.to = step.from;
      parts.push({ from: step.from, to: gap.to, rows: step.rows });
    }
  };
  for (const step of await countSteps(clickhouse, table, gap, minute)) {
    const range = {
      from: Math.max(step.from, gap.from),
      to: Math.min(step.from + minute, gap.to),
    };
    if (step.rows <= rows_max) add({ from: range.from, rows: step.rows });
    else for (const one of await countSteps(clickhouse, table, range, 1_000)) add(one);
  }
  return parts;
}

async function countSteps(
  clickhouse: ClickHouse,
  table: RowTable,
  range: Range,
  step: number,
): Promise<{ from: number; rows: number }[]> {
  const rows = await ask<{ step: string; rows: string }>(
    clickhouse,
    `SELECT intDiv(toUnixTimestamp64Micro(inserted_at), ${step}) AS step, count() AS rows
      FROM ${table} WHERE ${within(range)} GROUP BY step ORDER BY step`,
  );
  return rows.map((row) => ({ from: Number(row.step) * step, rows: Number(row.rows) }));
}

/**
 * Writes the rows of a range into a file. Counts the rows before and afterwards: below the cut,
 * rows can only be removed, so equal counts mean that the file has exactly these rows.
 */
async function copyStretch(
  { clickhouse, place }: Pick<AnalyticsCopy, 'clickhouse' | 'place'>,
  counted: Stretch,
): Promise<Stretch> {
  const { table, from, to, columns } = counted;
  if (counted.rows === 0) return counted;
  const bytes = await streamAnswer(clickhouse, {
    query: `SELECT ${columns.join(', ')} FROM ${table} WHERE ${within({ from, to })}
      FORMAT Native`,
    clickhouse_settings: { max_threads: 2 },
  });
  const name = `analytics/${table}/${from}-${to}-${randomUUID().slice(0, 8)}.native.zst`;
  const file = await writeFile(place, name, bytes);
  const [row] = await ask<{ rows: string }>(
    clickhouse,
    `SELECT count() AS rows FROM ${table} WHERE ${within({ from, to })}`,
  );
  const rows = Number(row?.rows ?? 0);
  if (rows === counted.rows) return { ...counted, file };
  await place.remove(name);
  return copyStretch({ clickhouse, place }, { ...counted, rows });
}

/** Merges a stretch without rows into the one before. */
function joinedEmpty(stretches: Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const stretch of stretches.toSorted(
    (one, other) => one.table.localeCompare(other.table) || one.from - other.from,
  )) {
    const last = joined.at(-1);
    if (last?.table === stretch.table && last.to === stretch.from && stretch.rows === 0)
      joined[joined.length - 1] = { ...last, to: stretch.to };
    else joined.push(stretch);
  }
  return joined;
}

function within({ from, to }: Range): string {
  const at = (micros: number) => `fromUnixTimestamp64Micro(toInt64(${micros}), 'UTC')`;
  return `inserted_at >= ${at(from)} AND inserted_at < ${at(to)}`;
}
