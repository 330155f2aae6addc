import { finished } from 'node:stream/promises';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { RowTable } from '../../engine/model/removals/delete_rows.ts';
import { streamAnswer } from '../../platform/clickhouse/answer.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../platform/counted.ts';
import { ask, storedColumns } from '../stores/ask.ts';
import { UserError } from '../user_error.ts';

/** The rows to copy, their source and their target. */
export type Move = {
  source: ClickHouse;
  target: ClickHouse;
  /** Returns the current name of a table in the source. */
  named(table: RowTable): string;
  tell(line: string): void;
  /** Days that were equal on both sides, by table and day, with their rows. */
  known: Map<string, string>;
  /** The first day that may still get rows: it and later days are hashed each time. */
  open_from: string;
};

/** Rows of a day of insertion, and the sum of hashes of all their values. */
type Day = { day: string; rows: number; digest: string };

const tries_max = 3;
/** Inserts are large and few, because replicas have to agree on each. */
const block_rows = '1000000';

/**
 * Copies the rows of the source that were inserted before `until` (a condition on `inserted_at`;
 * without it, all rows), so that the target has exactly these. Guarantees: it counts and hashes
 * both sides month by month, then day by day, and replaces each day of the target that differs. So
 * it can be killed and repeated. A month is done only when both sides agree. Days that were equal
 * before and get no more rows are only counted. Returns the number of copied rows.
 */
export async function copyRows(move: Move, until?: number): Promise<number> {
  let copied = 0;
  for (const table of row_tables)
    for (const month of await monthsOf(move, table, until))
      copied += await copyMonth(move, table, month, until);
  return copied;
}

async function copyMonth(
  move: Move,
  table: RowTable,
  month: number,
  until: number | undefined,
): Promise<number> {
  let copied = 0;
  for (let tries = 0; tries < tries_max; tries += 1) {
    const differing = await differingDays(move, table, month, until);
    if (differing.length === 0) {
      move.tell(`${table} ${month}: the same on both sides`);
      return copied;
    }
    for (const { day, rows } of differing) {
      const day_rows = await copyDay(move, table, { day, rows }, until);
      move.tell(`${table} ${day}: ${counted(day_rows, 'row')} copied`);
      copied += day_rows;
    }
  }
  throw new UserError(
    `The month ${month} of ${table} was copied ${tries_max} times and still differs: rows ` +
      'are being removed. Try again when no erasure or retention is in progress.',
  );
}

/** Returns the days that differ; for days that were equal before, only the counts are compared. */
async function differingDays(
  { source, target, named, known, open_from }: Move,
  table: RowTable,
  month: number,
  until: number | undefined,
): Promise<{ day: string; rows: number }[]> {
  const columns = await storedColumns(source, named(table));
  const sides = async (condition: string, hashed?: string[]) =>
    Promise.all([
      daysOf(source, named(table), within(condition, until), hashed),
      caughtUp(target, [table], () => daysOf(target, table, within(condition, until), hashed)),
    ]);
  const [from, to] = await sides(`toYYYYMM(inserted_at) = ${month}`);
  const unsure = [...new Set([...from.keys(), ...to.keys()])].filter((day) => {
    const rows = from.get(day)?.rows;
    return rows !== to.get(day)?.rows || known.get(`${table} ${day}`) !== String(rows);
  });
  if (unsure.length === 0) return [];
  const days = unsure.map((day) => `'${day}'`).join(', ');
  const [one, other] = await sides(`toDate(inserted_at) IN (${days})`, columns);
  const differing = unsure
    .filter(
      (day) =>
        one.get(day)?.rows !== other.get(day)?.rows ||
        one.get(day)?.digest !== other.get(day)?.digest,
    )
    .sort();
  for (const { day, rows } of one.values())
    if (differing.includes(day)) known.delete(`${table} ${day}`);
    else if (day < open_from) known.set(`${table} ${day}`, String(rows));
  return differing.map((day) => ({ day, rows: other.get(day)?.rows ?? 0 }));
}

/** Deletes the day from the target, and streams it again. */
async function copyDay(
  { source, target, named }: Move,
  table: RowTable,
  { day, rows }: { day: string; rows: number },
  until: number | undefined,
): Promise<number> {
  const ofDay = `toDate(inserted_at) = toDate('${day}')`;
  if (rows > 0)
    await target.command({
      query: `ALTER TABLE ${table} DELETE WHERE ${ofDay}`,
      clickhouse_settings: { mutations_sync: '2' },
    });
  const columns = (await storedColumns(source, named(table))).join(', ');
  const where = within(ofDay, until);
  const values = await streamAnswer(source, {
    query: `SELECT ${columns} FROM ${named(table)} WHERE ${where} FORMAT Native`,
    clickhouse_settings: { max_threads: 2 },
  });
  let fault: unknown;
  values.once('error', (error) => (fault = error));
  try {
    const { stream } = await target.exec({
      query: `INSERT INTO ${table} (${columns}) FORMAT Native`,
      values,
      clickhouse_settings: {
        max_insert_threads: '1',
        min_insert_block_size_rows: block_rows,
        min_insert_block_size_bytes: '268435456',
      },
    });
    await finished(stream.resume());
  } catch (error) {
    // The target's own error only says that the rows were cut off.
    throw fault ?? error;
  }
  const [sum] = (await daysOf(source, named(table), where)).values();
  return sum?.rows ?? 0;
}

async function monthsOf(
  { source, target, named }: Move,
  table: RowTable,
  until: number | undefined,
): Promise<number[]> {
  const months = async (clickhouse: ClickHouse, name: string) =>
    ask<{ month: number }>(
      clickhouse,
      `SELECT DISTINCT toYYYYMM(inserted_at) AS month FROM ${name} WHERE ${within('1', until)}`,
    );
  const found = [
    ...(await months(source, named(table))),
    ...(await caughtUp(target, [table], () => months(target, table))),
  ];
  return [...new Set(found.map(({ month }) => month))].sort((one, other) => one - other);
}

async function daysOf(
  clickhouse: ClickHouse,
  table: string,
  where: string,
  columns?: string[],
): Promise<Map<string, Day>> {
  // Each row counts with a hash of all its values, regardless of the order of rows. Rows with the
  // token of a batch belong to no project, and only to one store.
  const digest = columns === undefined ? "''" : `toString(sum(cityHash64(${columns.join(', ')})))`;
  const days = await ask<{ day: string; rows: number; digest: string }>(
    clickhouse,
    `SELECT toString(toDate(inserted_at)) AS day, count() AS rows, ${digest} AS digest
      FROM ${table} WHERE ${where} GROUP BY day ORDER BY day`,
  );
  return new Map(days.map((one) => [one.day, { ...one, rows: one.rows }]));
}

function within(condition: string, until: number | undefined): string {
  return until === undefined
    ? condition
    : `${condition} AND inserted_at < fromUnixTimestamp64Milli(toInt64(${until}), 'UTC')`;
}
