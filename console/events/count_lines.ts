import type { Static } from 'typebox';
import type { EventCounts } from '../../server/api/events/schema.ts';
import type { IngestionWarningRow } from '../../server/api/ingestion_warnings/schema.ts';
import type { Listed } from '../http/list.ts';

const minute_ms = 60_000;
/** An hour in milliseconds. */
export const hour_ms = 60 * minute_ms;
/** A day in milliseconds. */
export const day_ms = 24 * hour_ms;

/** The ranges to choose from, each with the length of its steps. */
export const ranges = [
  { label: 'Hour', length_ms: hour_ms, interval: 'minute', step_ms: minute_ms },
  { label: 'Day', length_ms: day_ms, interval: 'hour', step_ms: hour_ms },
  { label: 'Week', length_ms: 7 * day_ms, interval: 'hour', step_ms: hour_ms },
  { label: 'Month', length_ms: 30 * day_ms, interval: 'day', step_ms: day_ms },
] as const;

/** A range of the list. */
export type Range = (typeof ranges)[number];
/** A range of time in milliseconds. */
export type Span = { from: number; to: number };
/** Counts of stored events over time. */
export type Counts = Static<typeof EventCounts>;
/** Events that were refused or changed. */
export type Warnings = Listed<IngestionWarningRow>;

/** Returns the range of the name; default: a day. */
export function rangeOf(label: string | undefined): Range {
  return ranges.find((range) => range.label === label) ?? ranges[1];
}

/** Returns the end of the current minute, hour or day, in milliseconds. */
export function endOf({ step_ms }: Range, now_ms: number): number {
  return Math.ceil((now_ms + 1) / step_ms) * step_ms;
}

/** Returns the range that ends at the time. */
export function spanOf({ length_ms }: Range, to: number): Span {
  return { from: to - length_ms, to };
}

/** Returns the counts as a line: a number for each step of the span, 0 without events. */
export function lineOf({ results }: Counts, { from, to }: Span, step_ms: number) {
  const known = new Map(results.map(({ start_at, events }) => [Date.parse(start_at), events]));
  const at: number[] = [];
  for (let instant = from; instant < to; instant += step_ms) at.push(instant);
  return {
    at: at.map((instant) => instant / 1000),
    values: at.map((instant) => known.get(instant) ?? 0),
    total: results.reduce((sum, { events }) => sum + events, 0),
  };
}

/** Groups the warnings by reason: their number, the last time, and the newest examples. */
export function byReason({ results }: Warnings): IngestionWarningRow[] {
  const found = new Map<string, IngestionWarningRow>();
  for (const row of results) {
    const known = found.get(row.reason);
    // The newest rows come first, with the newest examples.
    if (known === undefined) found.set(row.reason, { ...row });
    else known.events += row.events;
  }
  return [...found.values()].toSorted((one, other) => other.events - one.events);
}
