import { counted } from '../../../platform/counted.ts';
import type { ProofCounts } from './schema.ts';

/** Describes the states of a range's stored rows in a sentence. */
export function sentenceOf(totals: ProofCounts): string {
  const { stored, delivered } = totals;
  if (delivered === null)
    return (
      `${counted(stored, 'row')} stored. The rows of this query cannot be traced to stored rows, ` +
      'so they are not compared.'
    );
  const parts = [
    [delivered, 'delivered'],
    [totals.left_out, 'left out by the filter'],
    [totals.set_aside, 'set aside'],
    [totals.in_progress, 'in progress'],
    [totals.waiting, 'waiting'],
    [totals.not_delivered, 'not delivered'],
  ] as const;
  const named = parts.filter(([rows], index) => index === 0 || (rows ?? 0) > 0);
  const sums = named.map(([rows, what]) => `${rows} ${what}`).join(', ');
  const erased =
    totals.erased === 0 ? '' : ` ${counted(totals.erased, 'row')} erased since the delivery.`;
  return `${counted(stored, 'row')} stored: ${sums}.${erased}`;
}
