import type { ExchangeBody, HeaderField, ToolExchange } from '../tool_outcome.ts';

/** A tool with more requests in one call keeps the first requests and the last one. */
const exchanges_max = 4;
const body_length_max = 10_000;
const url_length_max = 2_000;
const header_length_max = 500;
const headers_max = 50;

/** Adds a request without an answer, which the caller completes. */
export function noteRequest(
  exchanges: ToolExchange[],
  request: { method: string; url: string; headers: [string, string][]; body: Buffer },
): ToolExchange {
  const { method, url, headers, body } = request;
  const exchange: ToolExchange = {
    request: {
      method,
      url: url.slice(0, url_length_max),
      header_fields: headerFieldsOf(headers),
      body: body.length === 0 ? null : bodyOf(body),
    },
    answer: null,
    error: null,
  };
  if (exchanges.length === exchanges_max) exchanges.pop();
  exchanges.push(exchange);
  return exchange;
}

/** Returns headers of a request or an answer, cut. */
export function headerFieldsOf(headers: [string, string][]): HeaderField[] {
  return headers.slice(0, headers_max).map(([name, value]) => ({
    name: name.slice(0, header_length_max),
    value: value.slice(0, header_length_max),
  }));
}

/** Returns a body in stored form: its first 10,000 characters. */
export function bodyOf(bytes: Buffer): ExchangeBody {
  const size_bytes = bytes.length;
  // A character has four bytes at most.
  const beginning = bytes.subarray(0, 4 * body_length_max);
  const text = beginning.toString('utf8').slice(0, body_length_max);
  const isText = !text.slice(0, -1).includes('\uFFFD');
  return { text: isText ? text.toWellFormed().replaceAll('\0', '\uFFFD') : null, size_bytes };
}
