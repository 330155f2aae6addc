import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { pipe_header, plain_columns } from '../../clickhouse/answer.ts';
import { identifier, literal } from '../../clickhouse/quote.ts';
import { engine_niceness, large_answer_niceness } from './orders.ts';
import { fault } from './session.ts';
import type { Fault } from './session.ts';
import { readBounded } from '../../read_bounded.ts';

/**
 * A parsed request of ClickHouse's HTTP interface: the statement's text, its data, and its own
 * settings.
 */
export type ClickHouseRequest = {
  text: string;
  /** The body, if the URL contains the text. */
  data: AsyncIterable<Uint8Array> | undefined;
  query_id: string | undefined;
  default_format: string;
  params: [name: string, value: string][];
  settings: [name: string, value: string][];
  database: string | undefined;
  /** True if the answer is requested through a pipe. */
  is_piped: boolean;
  /** True if its columns have types that every format supports. */
  is_plain: boolean;
};

// Parameters of the interface itself; all others are settings of the engine.
const interfaceWords = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'wait_end_of_query',
  'buffer_size',
  'compress',
  'decompress',
  'session_timeout',
  'session_check',
  'stacktrace',
  'quota_key',
  'user',
  'password',
  'enable_http_compression',
  'http_zlib_compression_level',
  'log_comment',
  'close_session',
]);
const unsupportedWords = ['session_id', 'role'];
// A query with a priority number below the highest yields to everything else.
const nicenessOfYielding = 19;
const textBytesMax = 256 * 1024 * 1024;

/**
 * Reads a request's URL and, if it contains the statement, its body. Returns a fault for
 * unsupported features of the interface.
 */
export async function readRequest(
  request: IncomingMessage,
): Promise<ClickHouseRequest | { fault: Fault }> {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const body =
    request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
  const isForm = request.headers['content-type']?.startsWith('multipart/form-data') === true;
  const entries: [string, string][] = [...searchParams];
  const fromUrl = searchParams.get('query');
  let text = fromUrl ?? '';
  let data: AsyncIterable<Uint8Array> | undefined;
  if (isForm) {
    const form = await new Response(await readAll(body), {
      headers: { 'Content-Type': request.headers['content-type'] ?? '' },
    }).formData();
    for (const [name, value] of form) if (typeof value === 'string') entries.push([name, value]);
    text = entries.find(([name]) => name === 'query')?.[1] ?? '';
  } else if (fromUrl === null) text = (await readAll(body)).toString();
  else if (request.method === 'POST') data = body;
  const wanted = request.headers[pipe_header];
  const how = { is_piped: wanted !== undefined, is_plain: wanted === plain_columns };
  return sort({ text, data, ...how }, entries);
}

function sort(
  given: Pick<ClickHouseRequest, 'text' | 'data' | 'is_piped' | 'is_plain'>,
  entries: [string, string][],
): ClickHouseRequest | { fault: Fault } {
  const result: ClickHouseRequest = {
    ...given,
    query_id: undefined,
    default_format: 'TabSeparated',
    params: [],
    settings: [],
    database: undefined,
  };
  for (const [name, value] of entries) {
    if (!/^\w+$/.test(name))
      return {
        fault: fault(
          36,
          'BAD_ARGUMENTS',
          'The name of a setting consists of letters, digits and underscores.',
        ),
      };
    if (unsupportedWords.includes(name))
      return {
        fault: fault(36, 'BAD_ARGUMENTS', `${name} is not available in the embedded store.`),
      };
    if (name === 'query_id') result.query_id = value;
    else if (name === 'default_format') result.default_format = value;
    else if (name === 'database') result.database = value;
    else if (name.startsWith('param_')) result.params.push([name, value]);
    else if (!interfaceWords.has(name)) result.settings.push([name, value]);
  }
  return result;
}

/**
 * Returns the statements that set a request's parameters, settings and label in its session.
 * Parameters come first: after `readonly`, nothing can be set.
 */
export function preambleOf(request: ClickHouseRequest, label: string): string {
  const params = request.params.map(([name, value]) => `SET ${name} = ${literal(value)};`);
  const settings = [
    ['os_threads_nice_value_query', String(nicenessOf(request))] as const,
    ...request.settings,
    ['log_comment', label] as const,
  ].map(([name, value]) => `${name} = ${literal(value)}`);
  const database = request.database === undefined ? '' : `USE ${identifier(request.database)};`;
  return `${params.join('')}${database}SET ${settings.join(', ')};`;
}

function nicenessOf({ settings, is_piped }: ClickHouseRequest): number {
  if (settings.some(([name]) => name === 'priority')) return nicenessOfYielding;
  return is_piped ? large_answer_niceness : engine_niceness;
}

function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  const said = 'The statement is too long: send data as the body, and the statement in the URL.';
  return readBounded(body, textBytesMax, () => new RangeError(said));
}
