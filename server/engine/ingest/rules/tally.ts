/** Counts the occurrences of each source. */
export function tallyOf(sources: readonly string[]): Map<string, number> {
  const tally = new Map<string, number>();
  for (const source of sources) tally.set(source, (tally.get(source) ?? 0) + 1);
  return tally;
}
