import type { SlotRange } from '../../../server/api/batch_exports/slots/schema.ts';
import type { Span } from './boundaries.ts';
import { kindOf, kind_names } from './kinds.ts';
import type { Clock, Picked } from './clocks.ts';

/** The ranges for painting: start and end of each, and the number of its kind. */
export type Drawn = { ranges: SlotRange[]; from: Float64Array; to: Float64Array; kind: Uint8Array };

/** Converts the ranges once, so that painting parses no text. */
export function drawnOf(ranges: SlotRange[]): Drawn {
  const from = new Float64Array(ranges.length);
  const to = new Float64Array(ranges.length);
  ranges.forEach(({ start_at, end_at }, index) => {
    // Usually it begins where the one before ended, and parsing an instant is slow.
    const is_next = index > 0 && ranges[index - 1]!.end_at === start_at;
    from[index] = is_next ? to[index - 1]! : Date.parse(start_at);
    to[index] = Date.parse(end_at);
  });
  const kind = Uint8Array.from(ranges, (range) => kind_names.indexOf(kindOf(range)));
  return { ranges, from, to, kind };
}

/** Returns the index of the first range that ends after the instant. */
export function firstEndingAfter({ to }: Pick<Drawn, 'to'>, at: number): number {
  let [low, high] = [0, to.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (to[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the range that contains the instant. */
export function rangeAt(drawn: Drawn, at: number): SlotRange | undefined {
  const index = firstEndingAfter(drawn, at);
  return drawn.from[index]! <= at ? drawn.ranges[index] : undefined;
}

/**
 * Returns the share of each kind in each column of the view, from 0 to 1: `kinds` numbers per
 * column. It passes over the ranges once.
 */
export function columnShares(drawn: Drawn, view: Span, columns: number): Float32Array {
  const shares = new Float32Array(columns * kind_names.length);
  const column_ms = (view.to - view.from) / columns;
  for (let index = firstEndingAfter(drawn, view.from); index < drawn.to.length; index += 1) {
    const [from, to] = [drawn.from[index]!, drawn.to[index]!];
    if (from >= view.to) break;
    const start = Math.max(0, (from - view.from) / column_ms);
    const end = Math.min(columns, (to - view.from) / column_ms);
    for (let column = Math.floor(start); column < end; column += 1) {
      const share = Math.min(end, column + 1) - Math.max(start, column);
      shares[column * kind_names.length + drawn.kind[index]!]! += share;
    }
  }
  return shares;
}

/** The part of a range in a time span, and its number of slots. */
export type Part = Picked & { range: SlotRange; kind: number; slots: number; is_cut: boolean };

/** Returns the part of each range in the span, in order; a cut range has its share of slots. */
export function partsIn({ by, drawn }: { by: Clock; drawn: Drawn }, span: Span): Part[] {
  const parts: Part[] = [];
  for (let index = firstEndingAfter(drawn, span.from); index < drawn.to.length; index += 1) {
    const [start, end] = [drawn.from[index]!, drawn.to[index]!];
    if (start >= span.to) break;
    const [from, to] = [Math.max(start, span.from), Math.min(end, span.to)];
    const range = drawn.ranges[index]!;
    const slots = Math.max(1, Math.round((range.slots * (to - from)) / (end - start)));
    const kind = drawn.kind[index]!;
    parts.push({ by, range, kind, from, to, slots, is_cut: from > start || to < end });
  }
  return parts;
}

/** Counts the slots of each kind. */
export function countsOf(parts: Part[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { kind, slots } of parts) counts.set(kind, (counts.get(kind) ?? 0) + slots);
  return counts;
}
