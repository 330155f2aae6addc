import type { Part } from './drawn.ts';

/** The latest gap that a backfill repairs, and the number of others in view. */
export type GapFound = { gap: Part; others: number };

/**
 * Finds the latest slots that are missing for good. Slots that wait for their planning are not
 * included.
 */
export function gapIn(parts: Part[]): GapFound | undefined {
  const gaps = parts.filter(
    ({ range }) => range.state === 'missing' && range.reason !== 'not_planned',
  );
  const [gap, ...others] = gaps.toSorted((one, other) => other.to - one.to);
  return gap && { gap, others: others.length };
}
