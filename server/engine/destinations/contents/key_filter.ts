import { hash } from 'node:crypto';

/** A set of keys with false positives, one in a million, in four bytes per key. */
export type KeyFilter = { add(key: string): void; mayHave(key: string): boolean };

const bits_a_key = 32;
/**
 * 256 MiB: beyond 64 million keys, false positives grow, which costs time but changes no result.
 */
const bits_max = 2 ** 31;

/** Opens an empty set with room for this many keys. */
export function openKeyFilter(keys: number): KeyFilter {
  const bits = Math.min(bits_max, Math.max(2 ** 16, keys * bits_a_key));
  const words = new Uint32Array(Math.ceil(bits / 32));
  const bitsOf = (key: string) => {
    const digest = hash('md5', key, 'buffer');
    return [0, 4, 8, 12].map((at) => digest.readUInt32LE(at) % bits);
  };
  return {
    add: (key) => {
      for (const bit of bitsOf(key)) words[bit >>> 5]! |= 1 << (bit & 31);
    },
    mayHave: (key) => bitsOf(key).every((bit) => (words[bit >>> 5]! & (1 << (bit & 31))) !== 0),
  };
}
