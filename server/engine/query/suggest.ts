const candidate_characters_max = 64;
const distance_max = 5;
/** Most candidates that are looked at closely. */
const candidates_max = 200;

/**
 * The candidate that was probably meant by `name`: equal but for case, or at most a third of the letters and five away (insertions, deletions, replacements, and two neighbours
 * swapped count one each). Undefined when none is that near.
 */
export function suggest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > candidate_characters_max) return undefined;
  const wanted = name.toLowerCase();
  let best: { candidate: string; distance: number } | undefined;
  const allowed = Math.min(distance_max, Math.max(1, Math.floor(wanted.length / 3)));
  let compared = 0;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) > allowed) continue;
    compared += 1;
    if (compared > candidates_max) break;
    const distance = editDistance(wanted, candidate.toLowerCase(), allowed);
    if (distance <= allowed && distance < wanted.length && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** The distance where it is at most `allowed`, else a larger number: only the cells beside the diagonal can be part of a shorter way. */
function editDistance(one: string, other: string, allowed: number): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_unused, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = Array.from<number>({ length: other.length + 1 }).fill(Infinity);
    current[0] = row;
    for (let column = Math.max(1, row - allowed); column <= Math.min(other.length, row + allowed); column += 1) {
      const isEqual = one[row - 1] === other[column - 1];
      let cost = Math.min(current[column - 1]! + 1, previous[column]! + 1, previous[column - 1]! + (isEqual ? 0 : 1));
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwap) cost = Math.min(cost, beforePrevious[column - 2]! + 1);
      current[column] = cost;
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[other.length]!;
}
