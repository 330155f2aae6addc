const [c1, c2] = [0xcc9e2d51, 0x1b873593];

/** Returns murmur3 of 32 bits for x86 with the seed 0, as a signed integer. */
export function murmur3(bytes: Buffer): number {
  let hash = 0;
  const whole = bytes.length - (bytes.length % 4);
  for (let at = 0; at < whole; at += 4) {
    hash ^= scrambled(bytes.readInt32LE(at));
    hash = (Math.imul(turned(hash, 13), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let at = bytes.length - 1; at >= whole; at -= 1) rest = (rest << 8) | bytes[at]!;
  if (whole < bytes.length) hash ^= scrambled(rest);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function scrambled(word: number): number {
  return Math.imul(turned(Math.imul(word, c1), 15), c2);
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
