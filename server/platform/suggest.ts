const candidate_characters_max = 64;
const distance_max = 5;
/** Most candidates that are compared in detail. */
const candidates_max = 250;

/**
 * Returns the candidate that `name` probably means. It equals `name` except for case, or differs by
 * at most a third of the letters and by at most five. Insertions, deletions, replacements and
 * swapped neighbours count one each. Undefined if none is close enough.
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
    if (
      distance <= allowed &&
      distance < wanted.length &&
      (best === undefined || distance < best.distance)
    )
      best = { candidate, distance };
  }
  return best?.candidate;
}

/**
 * Returns the distance if it is at most `allowed`, otherwise a larger number: only the cells near
 * the diagonal can be part of a shorter path.
 */
function editDistance(one: string, other: string, allowed: number): number {
  const far = allowed + 1;
  const newRow = () => new Uint8Array(other.length + 1).fill(far);
  let [beforePrevious, previous, current] = [newRow(), newRow(), newRow()];
  for (let column = 0; column <= Math.min(allowed, other.length); column += 1)
    previous[column] = column;
  for (let row = 1; row <= one.length; row += 1) {
    const [first, last] = [Math.max(1, row - allowed), Math.min(other.length, row + allowed)];
    current.fill(far);
    current[0] = Math.min(row, far);
    for (let column = first; column <= last; column += 1) {
      const isEqual = one.charCodeAt(row - 1) === other.charCodeAt(column - 1);
      let cost = Math.min(
        current[column - 1]! + 1,
        previous[column]! + 1,
        previous[column - 1]! + (isEqual ? 0 : 1),
        far,
      );
      const isSwap =
        row > 1 &&
        column > 1 &&
        one.charCodeAt(row - 1) === other.charCodeAt(column - 2) &&
        one.charCodeAt(row - 2) === other.charCodeAt(column - 1);
      if (isSwap) cost = Math.min(cost, beforePrevious[column - 2]! + 1);
      current[column] = cost;
    }
    [beforePrevious, previous, current] = [previous, current, beforePrevious];
  }
  return previous[other.length]!;
}
