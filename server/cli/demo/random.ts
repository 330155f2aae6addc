/**
 * A reproducible random source: the same seed gives the same sequence on every machine. Not for
 * secrets.
 */
export type Random = {
  /** Uniform in [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** Returns true with this probability. */
  chance(probability: number): boolean;
  /** Returns one of the items, chosen by weight. */
  pick<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item;
  /** Exponentially distributed around the mean. */
  around(mean: number): number;
  /** Returns a version 7 UUID for this instant, with random other bits. */
  uuidAt(milliseconds: number): string;
};

/** Opens the source for a seed, and names that distinguish it from others with that seed. */
export function openRandom(...seed: (number | string)[]): Random {
  // FNV-1a over the seed, then mulberry32: small, fast and good enough for a demo.
  let state = 0x811c9dc5;
  for (const character of seed.join('/'))
    state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('');
  return {
    next,
    below: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    pick: (items) => {
      let rest = next() * items.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, item] of items) if ((rest -= weight) < 0) return item;
      return items.at(-1)![1];
    },
    around: (mean) => -Math.log(1 - next()) * mean,
    uuidAt: (milliseconds) => {
      const time = Math.floor(milliseconds).toString(16).padStart(12, '0');
      const early = `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}`;
      return `${early}-${'89ab'[Math.floor(next() * 4)]}${hex(3)}-${hex(12)}`;
    },
  };
}
