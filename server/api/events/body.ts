import { isUtf8 } from 'node:buffer';
import { PassThrough, Readable, pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import { isJsonObject, parseExact } from '../../engine/ingest/exact_json.ts';
import { body_size_bytes_max, rawBody } from '../../platform/http/body.ts';
import { invalid, tooLarge, unparsable, unsupportedMediaType } from '../../platform/http/errors.ts';

/** Media types of a body that is read line by line. */
export const line_media_types = ['application/x-ndjson', 'application/ndjson'];

/** A list of parsed events with the attribute in front of each, or the bytes of NDJSON, unpacked. */
export type EventsSent =
  | { values: unknown[]; isList: boolean; lines?: undefined }
  | { lines: AsyncIterable<Buffer> };

const unpack = promisify(gunzip);

/**
 * The body of an events request, unpacked. Throws 415 for another media type or encoding, 413 for JSON beyond 20 MiB (unpacked), 400 for broken gzip or JSON. NDJSON is not
 * read here and has no limit.
 */
export async function eventsSent(request: FastifyRequest): Promise<EventsSent> {
  const isPacked = isGzip(request.headers['content-encoding']);
  const { body } = request;
  if (body instanceof Readable) return { lines: isPacked ? unpacked(body) : body };
  const bytes = rawBody(request);
  if (bytes === undefined) throw invalid('events', 'required', 'This field is required.');
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType(
      'Send "Content-Type: application/json" with a list of events, or "application/x-ndjson" with an event on each line.',
    );
  }
  return eventsOf(parse(isPacked ? await unpackWhole(bytes) : bytes));
}

function isGzip(header: string | undefined): boolean {
  // Content codings are written in any case (RFC 9110, section 8.4.1).
  const encoding = header?.toLowerCase();
  if (encoding === undefined || encoding === 'identity') return false;
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  throw unsupportedMediaType('Send the body plain or with "Content-Encoding: gzip".');
}

function unpacked(body: Readable): Readable {
  // A stream of its own at the end passes the error of whichever part failed on to the reader.
  return pipeline(body, createGunzip(), new PassThrough(), () => {});
}

async function unpackWhole(bytes: Buffer): Promise<Buffer> {
  try {
    return await unpack(bytes, { maxOutputLength: body_size_bytes_max });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(body_size_bytes_max);
    throw unparsable('The gzip data of the body is broken or cut off.');
  }
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw unparsable('The body is not UTF-8 text.');
  try {
    return parseExact(bytes.toString('utf8'));
  } catch (error) {
    throw unparsable(
      error instanceof RangeError
        ? 'The body is nested too deeply.'
        : 'The body is not valid JSON.',
    );
  }
}

function eventsOf(body: unknown): EventsSent {
  if (!isJsonObject(body))
    throw invalid(null, 'invalid_input', 'The body must be an object with the list `events`.');
  const { events } = body;
  if (Array.isArray(events)) return { values: events, isList: true };
  if (events === undefined && body['event'] !== undefined) return { values: [body], isList: false };
  if (events === undefined) throw invalid('events', 'required', 'This field is required.');
  throw invalid('events', events === null ? 'null' : 'not_a_list', 'Must be a list.');
}
