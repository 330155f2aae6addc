import type { Answer } from './protocol.ts';

const type = 'application/json; charset=utf-8';
const pixel_bytes = Buffer.from(
  'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  'base64',
);

/** An answer in JSON. */
export function jsonAnswer(value: unknown, headers: Record<string, string> = {}): Answer {
  return { type, headers, body: JSON.stringify(value) };
}

/** The transparent picture of one pixel that an `img` of a page waits for. */
export function pixelAnswer(): Answer {
  return { type: 'image/gif', body: pixel_bytes };
}
