/**
 * The state of a hash of 64 bits: two lanes of 32, because JavaScript has no faster integers. The
 * hash detects random changes. It does not resist an attacker who crafts bytes.
 */
export type Lanes = Int32Array;

/** Bytes, and the same as words of 32 bits. */
export type Words = { bytes: Buffer; view: DataView };

const [first_factor, second_factor] = [0x9e3779b1 | 0, 0x85ebca77 | 0];
const [first_length, second_length] = [0x27d4eb2f | 0, 0x165667b1 | 0];
const [ones, highs, spaces] = [0x01010101, 0x80808080 | 0, 0x20202020];
const [quotes, backslashes] = [0x22222222, 0x5c5c5c5c];

/** Returns the bytes with a view of their words, created once for many hashes. */
export function wordsOf(bytes: Buffer): Words {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

/** Adds 32 bits. */
export function hashWord(lanes: Lanes, word: number): void {
  const one = Math.imul(lanes[0]! ^ word, first_factor);
  const other = Math.imul((lanes[1]! + word) | 0, second_factor);
  lanes[0] = one ^ (one >>> 15);
  lanes[1] = other ^ (other >>> 13);
}

/**
 * Adds the bytes up to a control character, or to a quote if `isQuoted`, and returns its position.
 * Returns -1 with an undefined hash if a backslash comes first, or the last bytes.
 */
export function hashText(lanes: Lanes, { view }: Words, from: number, isQuoted: boolean): number {
  const last = view.byteLength - 4;
  const wanted = isQuoted ? quotes : backslashes;
  let one = lanes[0]!;
  let other = lanes[1]!;
  for (let at = from; at <= last; at += 4) {
    const word = view.getInt32(at, true);
    const found = word ^ wanted;
    const slash = word ^ backslashes;
    // The lowest byte that is zero, or below 0x20, leaves its highest bit, and higher bytes may
    // too.
    const ended =
      (((found - ones) & ~found) | ((slash - ones) & ~slash) | ((word - spaces) & ~word)) & highs;
    if (ended !== 0) {
      // Without a branch for each byte, which would be mispredicted at the end of most texts.
      const bits = 24 - (Math.clz32(ended & -ended) & 24);
      const end = at + (bits >>> 3);
      if (((word >>> bits) & 0xff) === 0x5c) return -1;
      addRest(lanes, one, other, word & ((1 << bits) - 1), end - from);
      return end;
    }
    one = Math.imul(one ^ word, first_factor);
    one ^= one >>> 15;
    other = Math.imul((other + word) | 0, second_factor);
    other ^= other >>> 13;
  }
  return -1;
}

/** Adds the bytes between two positions, like `hashText`. */
export function hashSpan(lanes: Lanes, { bytes, view }: Words, from: number, to: number): void {
  let one = lanes[0]!;
  let other = lanes[1]!;
  let at = from;
  for (const last = to - 4; at <= last; at += 4) {
    const word = view.getInt32(at, true);
    one = Math.imul(one ^ word, first_factor);
    one ^= one >>> 15;
    other = Math.imul((other + word) | 0, second_factor);
    other ^= other >>> 13;
  }
  let rest = 0;
  for (let byte = to - 1; byte >= at; byte -= 1) rest = (rest << 8) | bytes[byte]!;
  addRest(lanes, one, other, rest, to - from);
}

/** Adds the last bytes, less than four, and the total number. */
function addRest(lanes: Lanes, one: number, other: number, rest: number, length: number): void {
  const first = Math.imul(one ^ rest ^ Math.imul(length, first_length), first_factor);
  const second = Math.imul((other + rest + Math.imul(length, second_length)) | 0, second_factor);
  lanes[0] = first ^ (first >>> 15);
  lanes[1] = second ^ (second >>> 13);
}

/** Returns 32 bits of both lanes; each bit depends on all of them. */
export function finish(one: number, other: number): number {
  let hash = one ^ ((other << 16) | (other >>> 16));
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
