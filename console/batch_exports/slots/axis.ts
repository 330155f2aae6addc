import { instantOf, instantsOf, wallClock } from '../../time/zone.ts';
import type { Span } from './boundaries.ts';

/** A line of the axis: its position and its label. */
export type Tick = { at: number; text: string };

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  5 * minute,
  15 * minute,
  hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  7 * day,
  14 * day,
];
const month = 30 * day;
const months = [1, 2, 3, 6, 12, 24, 60];

/**
 * Returns the ticks of a view, at round hours, days and months in the time zone, at most so many.
 */
export function ticksOf({ from, to }: Span, zone: string, most: number): Tick[] {
  const wanted = (to - from) / Math.max(1, most);
  const step = steps.find((length) => length >= wanted);
  const walls =
    step === undefined
      ? monthStarts(from, to, zone, wanted)
      : roundWalls(wallClock(from, zone), wallClock(to, zone), step);
  const ticks = walls
    .flatMap((wall) => {
      const instants = instantsOf(wall, zone);
      // A day also begins if the clocks skip its midnight.
      if (instants.length === 0 && wall % day === 0) instants.push(instantOf(wall, zone));
      return instants.map((at) => ({ at, text: textOf(wall, step) }));
    })
    .sort((one, two) => one.at - two.at);
  return ticks.filter(({ at }, index) => at >= from && at <= to && at !== ticks[index - 1]?.at);
}

/** Includes an hour around, because the clocks may change in between. */
function roundWalls(from: number, to: number, step: number): number[] {
  const walls: number[] = [];
  for (let wall = Math.ceil((from - hour) / step) * step; wall <= to + hour; wall += step)
    walls.push(wall);
  return walls;
}

function monthStarts(from: number, to: number, zone: string, wanted: number): number[] {
  const step = months.find((count) => count * month >= wanted) ?? 120;
  const date = new Date(wallClock(from, zone));
  const walls: number[] = [];
  let number = date.getUTCFullYear() * 12 + date.getUTCMonth();
  for (number = Math.ceil(number / step) * step; ; number += step) {
    const wall = Date.UTC(Math.floor(number / 12), number % 12, 1);
    if (wall > wallClock(to, zone)) return walls;
    walls.push(wall);
  }
}

function textOf(wall: number, step: number | undefined): string {
  const [date, time] = new Date(wall).toISOString().split('T') as [string, string];
  if (step === undefined) return date.slice(0, 7);
  return step < day && wall % day !== 0 ? time.slice(0, 5) : date.slice(5);
}
