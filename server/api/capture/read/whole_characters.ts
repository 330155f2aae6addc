const pair = /\xed([\xa0-\xaf])([\x80-\xbf])\xed([\xb0-\xbf])([\x80-\xbf])/g;
const half = /\xed[\xa0-\xbf][\x80-\xbf]/g;
const replacement = Buffer.from('\uFFFD').toString('latin1');

/**
 * The bytes with each character as UTF-8 has it, where its two halves (a surrogate pair) were
 * written one by one; a half alone becomes U+FFFD. Libraries for browsers of some years ago write
 * base64 so, and an emoji must not cost them their events. Other faults stay.
 */
export function withWholeCharacters(bytes: Buffer): Buffer {
  // One letter a byte, so that the bytes can be looked for as text.
  const text = bytes
    .toString('latin1')
    .replace(pair, (_all, ...bits: string[]) => {
      const [a, b, c, d] = bits.slice(0, 4).map((letter) => letter.charCodeAt(0) & 0x3f);
      const both = String.fromCharCode(0xd000 | (a! << 6) | b!, 0xd000 | (c! << 6) | d!);
      return Buffer.from(both).toString('latin1');
    })
    .replace(half, replacement);
  return Buffer.from(text, 'latin1');
}
