/** Random numbers for a campaign. */
export type Random = {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [from, to]. */
  between(from: number, to: number): number;
  /** One of the values, of which there is at least one. */
  one<Value>(values: readonly Value[]): Value;
};

/**
 * Returns mulberry32: the same seed gives the same numbers. Each `stream` has its own numbers, so
 * that more calls in one place do not change those of the others.
 */
export function openRandom(seed: number, stream: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) + Math.imul(stream, 0x85ebca6b)) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    one: (values) => values[Math.floor(next() * values.length)]!,
  };
}
