/** Returns the content of a raw LZ4 block of known length. Throws if the block is damaged. */
export function lz4Decompress(block: Uint8Array, length: number): Uint8Array {
  const content = new Uint8Array(length);
  let [from, to] = [0, 0];
  const lengthOf = (start: number): number => {
    let sum = start;
    if (start !== 15) return sum;
    for (let byte = 255; byte === 255;) sum += byte = byteAt(block, from++);
    return sum;
  };
  while (from < block.length) {
    const token = byteAt(block, from++);
    const literals = lengthOf(token >> 4);
    if (from + literals > block.length || to + literals > length) throw damaged();
    content.set(block.subarray(from, from + literals), to);
    from += literals;
    to += literals;
    if (from >= block.length) break;
    const back = byteAt(block, from++) + byteAt(block, from++) * 256;
    const matched = lengthOf(token & 15) + 4;
    if (back === 0 || back > to || to + matched > length) throw damaged();
    // Byte by byte: a match may overlap its own output.
    for (const end = to + matched; to < end; to += 1) content[to] = content[to - back]!;
  }
  if (to !== length) throw damaged();
  return content;
}

function byteAt(block: Uint8Array, at: number): number {
  const byte = block[at];
  if (byte === undefined) throw damaged();
  return byte;
}

function damaged(): Error {
  return new Error('A block of LZ4 is damaged.');
}
