/** A span of time, in milliseconds. */
export type Span = { from: number; to: number };

type Planted = { status: string; start_at: string; end_at: string | null };

/**
 * Finds the hour that the first demo left out: its backfill was cancelled before all others of the
 * export. `backfills` are listed newest first.
 */
export function plantedGap(backfills: Planted[], length_ms: number): Span | undefined {
  const spans = backfills
    .filter(({ status }) => status === 'Cancelled')
    .map(({ start_at, end_at }) => ({ from: Date.parse(start_at), to: Date.parse(end_at ?? '') }));
  return spans.findLast(({ from, to }) => to - from === length_ms);
}

/** Returns the span without the gap, which may lie outside. */
export function spansAround({ from, to }: Span, gap: Span | undefined): Span[] {
  if (gap === undefined) return [{ from, to }];
  return [
    { from, to: Math.min(gap.from, to) },
    { from: Math.max(gap.to, from), to },
  ].filter((span) => span.from < span.to);
}
