import { STATUS_CODES } from 'node:http';
import type { HttpContext } from './context.ts';
import { pageHeaders } from './guards/cross_origin.ts';
import { errorBody, headersTooLarge, unparsable } from './errors.ts';
import { requestIdOf } from './request_id.ts';
import { commonHeaders } from './guards/security_headers.ts';

/** Most bytes of the headers of a request: 32 KiB. */
export const header_size_bytes_max = 32 * 1024;

type ClientError = { code?: string; rawPacket?: unknown };

/**
 * Answers bytes that are no request: 431 for headers that are too long, 400 for text that is not
 * HTTP. Counts it, and lets the sending page read it.
 */
export function unreadAnswer(context: HttpContext, { code, rawPacket }: ClientError): string {
  const error =
    code === 'HPE_HEADER_OVERFLOW'
      ? headersTooLarge(header_size_bytes_max)
      : unparsable('The request is not valid HTTP.');
  const { status } = error;
  const labels = { method: 'unknown', route: 'unknown', status: String(status) };
  context.metrics.request_seconds.observe(labels, 0);
  const text = JSON.stringify(errorBody(error, requestIdOf({ headers: {} })));
  const headers = {
    ...commonHeaders(context),
    ...pageHeaders(originIn(rawPacket)),
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`;
}

/** Returns the origin from unparsed headers; nothing else of them reaches the answer. */
function originIn(packet: unknown): string | undefined {
  if (!Buffer.isBuffer(packet)) return undefined;
  const head = packet.toString('latin1', 0, 2 * header_size_bytes_max);
  return /\r\norigin: ?(https?:\/\/[\w.:[\]-]+|null)\r\n/i.exec(head)?.[1];
}
