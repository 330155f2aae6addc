import type { Rectangle } from './rectangles.ts';
import { ascending } from './sweep.ts';

/** A half-open range of time in milliseconds; ±Infinity without a bound. */
export type Span = { from: number; to: number };

/**
 * Returns the spans of insertion time in which the areas cover every event time, disjoint, merged
 * and in order. The areas may overlap. A row in one of these spans lies completely in the areas.
 */
export function coveredSpans(areas: Rectangle[]): Span[] {
  const isWhole = ({ event_from, event_to }: Rectangle) =>
    event_from === -Infinity && event_to === Infinity;
  const whole = areas.filter(isWhole).map(spanOf);
  const parts = areas.filter((area) => !isWhole(area));
  return merged([...whole, ...coveredByParts(parts)]);
}

/**
 * Returns the spans of event time in which the areas cover every insertion before `until`, like
 * `coveredSpans` for insertion time. The areas may overlap.
 */
export function coveredEventSpans(areas: Rectangle[], until: number): Span[] {
  return coveredSpans(
    areas
      .filter(({ inserted_from }) => inserted_from < until)
      .map((area) => ({
        event_from: area.inserted_from,
        event_to: area.inserted_to >= until ? Infinity : area.inserted_to,
        inserted_from: area.event_from,
        inserted_to: area.event_to,
      })),
  );
}

/** Returns true if the range lies within one of the spans, which are disjoint and in order. */
export function isCovered(spans: Span[], from: number, to: number): boolean {
  const span = firstEndingAfter(spans, from);
  return span !== undefined && span.from <= from && span.to >= to;
}

/** Returns true if the range overlaps one of the spans, which are disjoint and in order. */
export function isTouched(spans: Span[], from: number, to: number): boolean {
  const span = firstEndingAfter(spans, from);
  return span !== undefined && span.from < to;
}

function firstEndingAfter(spans: Span[], at: number): Span | undefined {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle]!.to <= at) low = middle + 1;
    else high = middle;
  }
  return spans[low];
}

/** Returns the spans as the text of a PostgreSQL `tstzmultirange`. */
export function multirangeText(spans: Span[]): string {
  const bound = (at: number) => (Number.isFinite(at) ? new Date(at).toISOString() : '');
  return `{${spans.map(({ from, to }) => `[${bound(from)},${bound(to)})`).join(',')}}`;
}

function spanOf({ inserted_from, inserted_to }: Rectangle): Span {
  return { from: inserted_from, to: inserted_to };
}

/** Sweeps over insertion time: between two edges, the same areas overlap. */
function coveredByParts(parts: Rectangle[]): Span[] {
  const edges = [
    ...new Set(parts.flatMap(({ inserted_from, inserted_to }) => [inserted_from, inserted_to])),
  ];
  edges.sort(ascending);
  const coming = parts.toSorted((one, other) => ascending(one.inserted_from, other.inserted_from));
  const spans: Span[] = [];
  let active: Rectangle[] = [];
  let next = 0;
  for (const [index, from] of edges.entries()) {
    const to = edges[index + 1];
    if (to === undefined) break;
    active = active.filter(({ inserted_to }) => inserted_to > from);
    while (next < coming.length && coming[next]!.inserted_from <= from)
      active.push(coming[next++]!);
    if (coversEventTime(active)) spans.push({ from, to });
  }
  return spans;
}

function coversEventTime(areas: Rectangle[]): boolean {
  let reached = -Infinity;
  for (const { event_from, event_to } of areas.toSorted((one, other) =>
    ascending(one.event_from, other.event_from),
  )) {
    if (event_from > reached) return false;
    if (event_to > reached) reached = event_to;
  }
  return areas.length > 0 && reached === Infinity;
}

function merged(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, other) => ascending(one.from, other.from))) {
    const last = result.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else result.push({ ...span });
  }
  return result;
}
