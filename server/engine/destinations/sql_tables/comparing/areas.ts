import { isoInstant } from '../../../../platform/clock.ts';

/** Event time by insertion time, half open, in milliseconds; ±Infinity without a bound. */
export type Area = {
  event_from: number;
  event_to: number;
  inserted_from: number;
  inserted_to: number;
};

/** A database's SQL for areas: two quoted columns, and an instant as a literal. */
export type AreaWords = { event: string; inserted: string; instant: (text: string) => string };

/** An area of rows, with the number of its delivery. */
export type NumberedArea = Area & { number: number };

/**
 * Returns SQL for the number of a row's area, -1 for none. Areas never overlap. Most have no bound
 * of event time: a binary search finds them.
 */
export function numberOfArea(words: AreaWords, areas: NumberedArea[]): string {
  const isPlain = ({ event_from, event_to }: Area) =>
    event_from === -Infinity && event_to === Infinity;
  const chosen = areas
    .filter((area) => !isPlain(area))
    .map((area) => `WHEN ${isWithin(words, area)} THEN ${area.number}`);
  const plain = areas
    .filter(isPlain)
    .toSorted((one, other) => one.inserted_from - other.inserted_from);
  const rest = halved(words, plain, 0, plain.length);
  return chosen.length === 0 ? rest : `CASE ${chosen.join(' ')} ELSE ${rest} END`;
}

/** Returns SQL that is true for a row within the area. */
export function isWithin(words: AreaWords, area: Area): string {
  const { event, inserted } = words;
  const bounds: [string, string, number][] = [
    [inserted, '>=', area.inserted_from],
    [inserted, '<', area.inserted_to],
    [event, '>=', area.event_from],
    [event, '<', area.event_to],
  ];
  const sides = bounds
    .filter(([, , at]) => Number.isFinite(at))
    .map(([column, sign, at]) => `${column} ${sign} ${words.instant(isoInstant(at))}`);
  return sides.length === 0 ? '1 = 1' : `(${sides.join(' AND ')})`;
}

function halved(words: AreaWords, plain: NumberedArea[], from: number, to: number): string {
  if (from === to) return '-1';
  if (to - from === 1) {
    const { number, ...area } = plain[from]!;
    return `CASE WHEN ${isWithin(words, area)} THEN ${number} ELSE -1 END`;
  }
  const middle = (from + to) >>> 1;
  const at = words.instant(isoInstant(plain[middle]!.inserted_from));
  return (
    `CASE WHEN ${words.inserted} < ${at} THEN ${halved(words, plain, from, middle)} ` +
    `ELSE ${halved(words, plain, middle, to)} END`
  );
}

/** Returns the smallest area around all of them. */
export function around(areas: Area[]): Area {
  const least = (side: keyof Area) => Math.min(...areas.map((area) => area[side]));
  const greatest = (side: keyof Area) => Math.max(...areas.map((area) => area[side]));
  return {
    event_from: least('event_from'),
    event_to: greatest('event_to'),
    inserted_from: least('inserted_from'),
    inserted_to: greatest('inserted_to'),
  };
}
