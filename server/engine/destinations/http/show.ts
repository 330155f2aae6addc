import { Readable } from 'node:stream';
import type { ShownRequest } from '../../model/destination/shown_request.ts';
import { bodiesOf, bodyOf } from './bodies.ts';
import type { HttpConfig } from './config.ts';
import { headersOf, packed } from './endpoint.ts';

const hidden = '********';
/** Placeholder for parts that differ in each request. */
const of_the_request = '(of the request)';

/**
 * Returns the first request for these lines of JSON: its exact body except for the token in it, and
 * the headers that the export sets, with secrets masked.
 */
export async function showRequest(config: HttpConfig, lines: Buffer): Promise<ShownRequest> {
  // The config's own headers are secret as a whole, including their names.
  const masked: HttpConfig = {
    ...config,
    headers: {},
    token: (config.token ?? '') === '' ? '' : hidden,
  };
  const bodies = bodiesOf(
    masked,
    Readable.from(lines.length === 0 ? [] : [lines], { objectMode: false }),
  );
  const { value: body = bodyOf(masked, []) } = await bodies.next();
  await bodies.return(undefined);
  const headers = Object.entries(headersOf(masked, { now: () => 0 }, of_the_request, body));
  return {
    format: config.body_format ?? 'JSONLines',
    compression: config.compression ?? null,
    records: body.records,
    headers: Object.fromEntries(
      headers.map(([name, value]) => [name, name.startsWith('webhook-') ? of_the_request : value]),
    ),
    text: body.bytes.toString(),
    body: await packed(masked, body),
  };
}
