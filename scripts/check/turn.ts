/** A run has one of this many numbers, which every usual number of turns divides. */
export const turns_max = 5_040;

/** Returns every `turns`th item, at least one: the part of a list for the run with this number. */
export function partOfTurn<One>(items: readonly One[], turns: number, run: number): One[] {
  const used = Math.min(turns, items.length);
  return items.filter((_, index) => (index + run) % used === 0);
}
