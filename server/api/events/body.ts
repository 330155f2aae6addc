import { PassThrough, Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { rawBody } from '../../platform/http/bodies/body.ts';
import { unpackBy } from '../../platform/http/bodies/unpack.ts';
import {
  ApiError,
  invalid,
  tooLarge,
  unparsable,
  unsupportedMediaType,
} from '../../platform/http/errors.ts';

/** Media types of bodies that are read line by line. */
export const line_media_types = ['application/x-ndjson', 'application/ndjson'];

/** Largest JSON body with events, in bytes, compressed or not: 20 MiB. Another thread reads it. */
export const events_size_bytes_max = 20 * 1024 * 1024;

/** The unpacked bytes of a JSON body with events, or of NDJSON. */
export type EventsSent =
  | { json: Buffer; lines?: undefined }
  | { json?: undefined; lines: AsyncIterable<Buffer> };

/** Gets the number of bytes held for the body so far; throws if there are too many. */
type Hold = (bytes: number) => void;

/**
 * Returns the unpacked body of an events request. Throws 415 for another media type or encoding,
 * 413 for JSON beyond 20 MiB (unpacked), 400 for broken gzip, and the errors of `hold`. It parses
 * neither JSON nor NDJSON, and NDJSON has no limit.
 */
export async function eventsSent(request: FastifyRequest, hold: Hold): Promise<EventsSent> {
  const isPacked = isGzip(request.headers['content-encoding']);
  const { body } = request;
  if (body instanceof Readable) return { lines: isPacked ? unpacked(body) : body };
  const bytes = rawBody(request);
  if (bytes === undefined) throw invalid('events', 'required', 'This field is required.');
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType(
      'Send "Content-Type: application/json" with a list of events, or "application/x-ndjson" ' +
        'with an event on each line.',
    );
  }
  hold(bytes.length);
  return { json: isPacked ? await unpackWhole(bytes, hold) : bytes };
}

function isGzip(header: string | undefined): boolean {
  // Content codings ignore letter case (RFC 9110, section 8.4.1).
  const encoding = header?.toLowerCase();
  if (encoding === undefined || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw unsupportedMediaType('Send the body uncompressed, or with "Content-Encoding: gzip".');
}

function unpacked(body: Readable): Readable {
  // The last stream passes the errors of both others to the reader.
  return pipeline(body, createGunzip(), new PassThrough(), () => {});
}

async function unpackWhole(bytes: Buffer, hold: Hold): Promise<Buffer> {
  try {
    return await unpackBy(createGunzip(), bytes, (made) => {
      if (made > events_size_bytes_max) throw tooLarge(events_size_bytes_max);
      hold(bytes.length + made);
    });
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw unparsable('The gzip data of the body is broken or cut off.');
  }
}
