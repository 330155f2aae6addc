/** Returns the median of the numbers. */
export function median(numbers: readonly number[]): number {
  return spreadOf(numbers)[0];
}

/** Returns the median, the minimum and the maximum of the numbers. */
export function spreadOf(numbers: readonly number[]): [number, number, number] {
  const sorted = numbers.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  const middle = (sorted[Math.ceil(half) - 1]! + sorted[Math.floor(half)]!) / 2;
  return [middle, sorted[0]!, sorted.at(-1)!];
}
