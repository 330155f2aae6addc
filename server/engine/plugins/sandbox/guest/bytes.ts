import { compute } from './bridge.ts';

/** The encodings of a Buffer. */
type Encoding =
  | 'utf8'
  | 'utf-8'
  | 'latin1'
  | 'binary'
  | 'base64'
  | 'base64url'
  | 'hex'
  | 'ascii'
  | 'utf16le';

/** Values that a plugin may pass as bytes: text stands for its UTF-8. */
export type BytesLike = string | ArrayBuffer | ArrayBufferView;

const { fromCharCode } = String;
const portion = 8_192;

/** Returns the bytes as a text with one character for each, in which form they cross the border. */
export function toBinary(value: BytesLike): string {
  if (typeof value === 'string') return convert(value, 'utf8', 'latin1');
  const bytes = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  let text = '';
  for (let at = 0; at < bytes.length; at += portion)
    text += fromCharCode(...bytes.subarray(at, at + portion));
  return text;
}

/** Returns the bytes of a text that has one character for each. */
export function fromBinary(text: string): Buffer {
  const bytes = new Buffer(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

function convert(text: string, from: string, to: string): string {
  return compute('convert', text, from, to);
}

/** A part of Node's Buffer: bytes with conversions from and to text. */
export class Buffer extends Uint8Array {
  static override from(value: unknown, encoding?: unknown): Buffer {
    const known = typeof encoding === 'string' ? encoding : 'utf8';
    if (typeof value === 'string') return fromBinary(convert(value, known, 'latin1'));
    return new Buffer(value instanceof ArrayBuffer ? value : [...(value as Iterable<number>)]);
  }

  static alloc(length: number, fill = 0): Buffer {
    return new Buffer(length).fill(fill);
  }

  static concat(parts: Uint8Array[]): Buffer {
    const all = new Buffer(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  static byteLength(value: string | ArrayBufferView, encoding: Encoding = 'utf8'): number {
    return typeof value === 'string' ? convert(value, encoding, 'latin1').length : value.byteLength;
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof Buffer;
  }

  override toString(encoding: Encoding = 'utf8'): string {
    return convert(toBinary(this), 'latin1', encoding);
  }

  toJSON(): { type: 'Buffer'; data: number[] } {
    return { type: 'Buffer', data: [...this] };
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, at) => byte === other[at]);
  }
}

/** The standard's TextEncoder. */
export class TextEncoder {
  readonly encoding = 'utf-8';
  encode(text: unknown = ''): Uint8Array {
    return new Uint8Array(fromBinary(convert(String(text), 'utf8', 'latin1')));
  }
}

/** The standard's TextDecoder, only for UTF-8. */
export class TextDecoder {
  readonly encoding = 'utf-8';
  constructor(label = 'utf-8') {
    if (!/^utf-?8$/i.test(label))
      throw new RangeError(`TextDecoder supports UTF-8 only, not ${label}.`);
  }
  decode(value: ArrayBuffer | ArrayBufferView = new Uint8Array()): string {
    const text = convert(toBinary(value), 'latin1', 'utf8');
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  }
}

/** The browsers' `btoa`: characters up to U+00FF to base64. */
export function btoa(text: string): string {
  if (/[^\0-\xff]/.test(text))
    throw new RangeError('btoa takes characters up to U+00FF: encode the text first.');
  return convert(text, 'latin1', 'base64');
}

/** The browsers' `atob`: base64 to characters up to U+00FF. */
export function atob(text: string): string {
  return convert(text, 'base64', 'latin1');
}
