import type { Difference } from '../../model/destination/difference.ts';
import { counted } from '../../../platform/counted.ts';

/** Further differences of one kind are counted, not named. */
const named_max = 1_000;

/**
 * Returns the first 1,000 differences of each kind, and sentences about the number of others.
 * `unnamed` is a lower bound of further differences that nobody has checked.
 */
export function listDifferences(
  name: string,
  differences: Difference[],
  unnamed: number,
): Difference[] {
  const listed: Difference[] = [];
  for (const [kind, of_kind] of Map.groupBy(differences, (difference) => difference.kind)) {
    listed.push(...of_kind.slice(0, named_max));
    const more = of_kind.length - named_max;
    if (more > 0) listed.push({ kind, name, detail: `${counted(more, 'more row')} like these.` });
  }
  if (unnamed > 0)
    listed.push({
      kind: 'changed',
      name,
      detail:
        `Left out: at least ${counted(unnamed, 'more row')}. Fix these first, ` +
        'then verify again.',
    });
  return listed;
}
