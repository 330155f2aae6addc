import { PassThrough } from 'node:stream';
import { systemClock } from '../../platform/clock.ts';
import { counted } from '../../platform/counted.ts';
import type { ImportFormat } from '../import/formats.ts';
import { readRequests } from '../import/requests.ts';
import { openImportSource } from '../import/source.ts';
import { filesOf, dayOf } from './history.ts';
import type { DayCount, Days } from './inventory.ts';

/** The counts of both sides for a day and an event name. `why` is empty if both are equal. */
export type Compared = {
  day: string;
  event: string;
  source: number;
  here: number;
  difference: number;
  why: string;
  is_explained: boolean;
};

/** Compares counts by day and event, ordered by both. */
export function compareCounts(source: DayCount[], here: DayCount[], today: string): Compared[] {
  const keyOf = ({ day, event }: DayCount) => `${day} ${event}`;
  const there = new Map(source.map((one) => [keyOf(one), one]));
  const ours = new Map(here.map((one) => [keyOf(one), one]));
  const all = [...new Set([...there.keys(), ...ours.keys()])].toSorted();
  return all.map((key) => {
    const { day, event } = (there.get(key) ?? ours.get(key))!;
    const { rows = 0, unique = 0 } = there.get(key) ?? {};
    const count = ours.get(key)?.rows ?? 0;
    const { why, is_explained } = reasonOf({ day, event, rows, unique, count, today });
    return { day, event, source: rows, here: count, difference: count - rows, why, is_explained };
  });
}

type Sides = DayCount & { count: number; today: string };

function reasonOf({ day, event, rows, unique, count, today }: Sides) {
  const explained = (why: string) => ({ why, is_explained: true });
  if (count === rows) return explained('');
  if (count === unique)
    return explained(`${counted(rows - unique, 'row')} of the source repeat a uuid`);
  if (day >= today) return explained('the day has not ended');
  if (count > unique && event === '$identify')
    return explained(`${counted(count - unique, 'event')} join two ids of a row`);
  return count > unique
    ? { why: 'more than in the source: was it also sent here?', is_explained: false }
    : { why: 'missing: not imported, refused, or dropped by a rule', is_explained: false };
}

/** Returns the lines of a table: the differences, and the total. */
export function comparedLines(all: readonly Compared[]): string[] {
  const differing = all.filter(({ difference }) => difference !== 0);
  const shown = (count: number) => count.toLocaleString('en');
  const rows = differing.map(({ day, event, source, here, difference, why }) => {
    const signed = `${difference > 0 ? '+' : ''}${shown(difference)}`;
    return [day, event, shown(source), shown(here), signed, why];
  });
  const table = rows.length === 0 ? [] : [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((row) => row[column]!.length), 0));
  const sum = (field: 'source' | 'here') => all.reduce((total, one) => total + one[field], 0);
  const left = differing.filter(({ is_explained }) => !is_explained).length;
  return [
    ...table.map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    ),
    `${counted(all.length, 'count')} compared: ${counted(sum('source'), 'event')} in the source, ` +
      `${shown(sum('here'))} here; ${counted(differing.length, 'difference')}, ` +
      `${shown(left)} not explained.`,
  ];
}

const head = ['day', 'event', 'source', 'here', 'difference', 'why'];

/** Most uuids that are remembered; beyond that, repeated uuids are not recognised. */
const uuids_max = 3_000_000;

/** Counts the events of files like an import. Refused lines are not counted. */
export async function countFiles(
  address: string,
  format: ImportFormat,
  { from, to }: Days,
  folder: string,
): Promise<DayCount[]> {
  const counts = new Map<string, DayCount>();
  const seen = new Set<string>();
  const quiet = { line: () => undefined, renamed: () => undefined };
  for (const { open } of await filesOf(address)) {
    const { path, close } = await open(folder);
    const source = await openImportSource(
      path,
      new PassThrough(),
      AbortSignal.timeout(2 ** 31 - 1),
    );
    for await (const { jsons } of readRequests(source, { format, timezone: 'UTC' }, 0, quiet))
      for (const json of jsons) {
        const { event, timestamp, uuid } = JSON.parse(json) as Record<string, string>;
        const day = dayOf(timestamp === undefined ? systemClock.now() : Date.parse(timestamp));
        if (day < from || day >= to) continue;
        const key = `${day} ${event}`;
        const count = counts.get(key) ?? { day, event: event!, rows: 0, unique: 0 };
        count.rows += 1;
        if (!seen.has(uuid!)) count.unique += 1;
        if (seen.size < uuids_max) seen.add(uuid!);
        counts.set(key, count);
      }
    await source.close();
    await close();
  }
  return [...counts.values()];
}
