import { isUtf8 } from 'node:buffer';
import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { unpackBy } from '../../../platform/http/bodies/unpack.ts';
import { ApiError, tooLarge, unparsable } from '../../../platform/http/errors.ts';
import { refused_content_bytes_max } from '../../../engine/ingest/warnings/refused_events.ts';
import { write_key_characters } from '../../../platform/http/caller/write_key.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { ErrorType } from '../../../platform/http/error_codes.ts';

/** Largest body of a request, in bytes, packed and unpacked: 20 MiB. */
export const capture_size_bytes_max = 20 * 1024 * 1024;
/** Largest form with base64: browsers send as much as fits into a beacon. */
const form_size_bytes_max = 1024 * 1024;
/** Most nested packings; gzip in base64 in a form has three. */
const layers_max = 4;

const unpackers = {
  gzip: createGunzip,
  deflate: createInflate,
  'raw deflate': createInflateRaw,
  brotli: createBrotliDecompress,
  zstd: createZstdDecompress,
} satisfies Record<string, () => Transform>;
type Packing = keyof typeof unpackers;

/**
 * Unpacks a body completely. Its bytes identify the packing; the header `Content-Encoding` only
 * counts where bytes cannot (brotli, deflate without a header). Throws 413 beyond 20 MiB, without
 * unpacking more, and 400 for broken data. Reports the number of received and unpacked bytes to
 * `hold`, whose errors stop the unpacking.
 */
export async function unpackBody(
  bytes: Buffer,
  encoding: string | undefined,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  let inner = bytes;
  hold(bytes.length);
  for (let layer = 0; layer < layers_max; layer += 1) {
    const packed = packingOf(inner) ?? (layer === 0 ? saidPacking(inner, encoding) : undefined);
    if (packed !== undefined) {
      const before = inner === bytes ? bytes.length : bytes.length + inner.length;
      inner = await unpacked(inner, packed, (made) => hold(before + made));
      continue;
    }
    const text = textInside(inner);
    if (text === undefined) return inner;
    inner = text;
  }
  throw unparsable('The body is compressed too many times.');
}

async function unpacked(
  bytes: Buffer,
  packing: Packing,
  hold: (bytes: number) => void,
): Promise<Buffer> {
  try {
    return await unpackBy(unpackers[packing](), bytes, (made) => {
      if (made > capture_size_bytes_max) throw tooLarge(capture_size_bytes_max);
      hold(made);
    });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw unparsable(`The ${packing} data of the body is broken or cut off.`);
  }
}

function packingOf(bytes: Buffer): Packing | undefined {
  if (bytes.length < 4) return undefined;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip';
  if (bytes.readUInt32LE(0) === 0xfd2fb528) return 'zstd';
  // RFC 1950: the usual window of 32 KiB, and a header that is a multiple of 31.
  return bytes[0] === 0x78 && bytes.readUInt16BE(0) % 31 === 0 ? 'deflate' : undefined;
}

function saidPacking(bytes: Buffer, encoding: string | undefined): Packing | undefined {
  if (isJson(bytes)) return undefined;
  const said = encoding?.trim().toLowerCase();
  if (said === 'br') return 'brotli';
  return said === 'deflate' ? 'raw deflate' : undefined;
}

function isJson(bytes: Buffer): boolean {
  const first = bytes.find((byte) => byte > 0x20);
  return first === 0x7b || first === 0x5b;
}

const form = /^(?:[\w.-]+=[^&]*&)*?data=/;
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Returns the bytes inside a form's `data` or a base64 text; undefined for other bytes. */
function textInside(bytes: Buffer): Buffer | undefined {
  if (bytes.length === 0 || isJson(bytes)) return undefined;
  const head = bytes.subarray(0, 4096).toString('latin1');
  const isForm = form.test(head);
  if (!isForm && !base64.test(head.trimEnd())) return undefined;
  if (bytes.length > form_size_bytes_max) throw tooLarge(form_size_bytes_max);
  const text = bytes.toString('latin1').trim();
  if (!isForm) return base64.test(text) ? bytesInside(text) : undefined;
  const fields = new URLSearchParams(text);
  const inside = dataOf(fields.get('data') ?? '');
  const isReadable = packingOf(inside) !== undefined || isJson(inside);
  if (fields.get('compression') === lz64 && !isReadable) throw packedWithLz64();
  return inside;
}

/** Returns the 400 for a body with too many values. */
export function tooManyValues(): ApiError {
  return unparsable('The body has more than two million values: send fewer events at a time.');
}

/** The name of a packing in old libraries, which its bytes do not identify. */
export const lz64 = 'lz64';

/** Returns the 400 that says what to do about such a body. */
export function packedWithLz64(): ApiError {
  return unparsable(
    'The body is packed with lz64, which this server does not read: use a newer posthog-js, ' +
      'or set `disable_compression: true` in its options.',
  );
}

/**
 * Returns the bytes inside base64; undefined for a word that only resembles base64, so that a
 * warning never shows bytes that nobody sent.
 */
function bytesInside(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return packingOf(bytes) !== undefined || isJson(bytes) || isUtf8(bytes) ? bytes : undefined;
}

/** Returns the bytes of a `data` parameter: base64, or plain JSON. */
export function dataOf(data: string): Buffer {
  // An unescaped plus arrives as a space.
  const text = data.trim().replaceAll(' ', '+');
  return base64.test(text) ? Buffer.from(text, 'base64') : Buffer.from(data);
}

const inside = new RegExp(`(?<![0-9A-Za-z_])slp_${write_key_characters}(?![0-9A-Za-z])`);

/** An unreadable body, and its write key. */
export type UnreadBody = { key?: string | undefined; bytes?: Uint8Array | undefined };

/** The 400 for an unreadable body. */
export class UnreadError extends ApiError {
  readonly body: UnreadBody;
  constructor(type: ErrorType, violations: Violation[], body: UnreadBody) {
    super(400, type, violations);
    this.body = body;
  }
}

/**
 * Returns the facts of an unreadable body: the first write key in it, and its bytes if they are few
 * enough to keep. The key is recognised by its form, so that its project learns of the body.
 */
export function unreadBody(bytes: Buffer): UnreadBody {
  const is_kept = bytes.length <= refused_content_bytes_max;
  return {
    key: inside.exec(bytes.toString('latin1'))?.[0],
    bytes: is_kept ? bytes : undefined,
  };
}
