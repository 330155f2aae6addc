import { once } from 'node:events';
import type http from 'node:http';
import type { Readable } from 'node:stream';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import {
  isOlder,
  version_query,
  without_settings,
} from '../../../platform/clickhouse/oldest_version.ts';
import { stopError, throwIfStopped } from '../../model/destination/stop.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import { targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { answerError, tooOld } from './faults.ts';

/** Values of `{name:Type}` in a statement. */
type Parameters = Record<string, string>;

/**
 * The user's server. Every call rejects at once if the connection is lost or its signal aborts; the
 * server then stops the query.
 */
export type Connection = Calls & {
  /** The config of the connection, and its table. */
  config: ClickHouseConfig;
  target: ReturnType<typeof targetOf>;
};

type Calls = {
  /** Returns all rows of a query with a small answer; 64-bit integers are numbers. */
  rows<Row>(query: string, parameters?: Parameters): Promise<Row[]>;
  /** Streams the rows of a query whose columns are texts, in bounded memory. */
  stream(query: string): AsyncIterable<ValueRow>;
  command(query: string, parameters?: Parameters): Promise<void>;
  /**
   * Streams the bytes of `INSERT INTO ... FORMAT ...`, and returns the rows that the server reports
   * as written, 0 without a report. Rejects with the error of `bytes` if they fail; a part of them
   * may then be in the table.
   */
  insert(statement: string, bytes: Readable, compression?: 'zstd' | null): Promise<number>;
  close(): Promise<void>;
};

/** Earlier releases lack settings that an insert needs. */
const oldest_server = '22.8';
/** Covers everything up to the answer to the first statement. */
const start_timeout_milliseconds = 60_000;
/** Longest silence of the server. */
const silence_milliseconds = 3_600_000;

/** Time for which the server waits for us, in seconds: the source may pause between two pieces. */
const patient: ClickHouseSettings = {
  http_receive_timeout: 3_600,
  http_send_timeout: 3_600,
  wait_end_of_query: 1,
};

/**
 * Only the text that our source writes; a value that a column cannot store is an error instead of a
 * default.
 */
const insert_settings: ClickHouseSettings = {
  ...patient,
  async_insert: 0,
  // Equal slices of two deliveries are both needed.
  insert_deduplicate: 0,
  date_time_input_format: 'best_effort',
  format_tsv_null_representation: '\\N',
  input_format_tsv_empty_as_default: 0,
  input_format_tsv_enum_as_number: 0,
  input_format_null_as_default: 0,
  input_format_with_names_use_header: 1,
  input_format_skip_unknown_fields: 0,
  input_format_allow_errors_num: '0',
  input_format_allow_errors_ratio: 0,
  // The months of the user's own table: instants of events may lie anywhere.
  max_partitions_per_insert_block: '0',
};

/**
 * Connects through the outbound guard. Guarantees: TLS with a checked certificate unless the config
 * says otherwise; no redirects; the server answers as a ClickHouse within 60 seconds, or the call
 * rejects. `begin` runs the first statement in place of the version query, and returns the version
 * too.
 */
export async function connect(
  config: ClickHouseConfig,
  deps: Pick<DestinationDeps, 'outbound' | 'signal' | 'noteProgress'>,
  begin?: (connection: Connection) => Promise<string | undefined>,
): Promise<Connection> {
  const { outbound, signal } = deps;
  throwIfStopped(signal);
  const url = new URL(config.url);
  const agent = openAgent(config, outbound);
  const client = createClient({
    url,
    username: config.user ?? 'default',
    password: config.password,
    database: config.database ?? 'default',
    application: 'sluice',
    request_timeout: silence_milliseconds,
    compression: { request: false, response: false },
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    http_agent: agent,
    log: { level: 127 },
  });
  const close = async () => {
    await client.close();
    agent.destroy();
  };
  const heeding = (stop: AbortSignal): Connection => ({
    config,
    target: targetOf(config),
    ...notingProgress(connectionOf(client, stop, close), deps),
  });
  try {
    const starting = AbortSignal.any([signal, AbortSignal.timeout(start_timeout_milliseconds)]);
    const ask = () => unlessStopped(starting, () => askVersion(client, starting));
    const version = await (begin === undefined ? ask() : beginWith(begin, heeding(starting), ask));
    if (version === undefined) throw new SyntaxError('no version');
    if (isOlder(version, oldest_server)) throw tooOld(version, oldest_server);
  } catch (error) {
    await close();
    // The answer is no JSON, or not in our form.
    throw error instanceof SyntaxError ? answerError(error) : error;
  }
  return heeding(signal);
}

/** Returns the version even if the server refuses the first statement because it is too old. */
async function beginWith(
  begin: (connection: Connection) => Promise<string | undefined>,
  connection: Connection,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await begin(connection);
  } catch (error) {
    const isAnswer = typeof (error as { type?: unknown }).type === 'string';
    const version = isAnswer ? await ask().catch(() => undefined) : undefined;
    if (version !== undefined && isOlder(version, oldest_server)) return version;
    throw error;
  }
}

/** Sends no settings: a server that is too old refuses those that it does not know. */
async function askVersion(
  client: ClickHouseClient,
  abort_signal: AbortSignal,
): Promise<string | undefined> {
  const result = await client.query({
    query: version_query,
    clickhouse_settings: without_settings,
    abort_signal,
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ version?: string }>();
  return row?.version;
}

function openAgent(config: ClickHouseConfig, outbound: DestinationDeps['outbound']): http.Agent {
  const isEncrypted = config.url.toLowerCase().startsWith('https:');
  return outbound.openAgent(isEncrypted ? 'https:' : 'http:', {
    keepAlive: true,
    maxSockets: 4,
    rejectUnauthorized: config.has_self_signed_cert !== true,
  });
}

function connectionOf(
  client: ClickHouseClient,
  signal: AbortSignal,
  close: () => Promise<void>,
): Calls {
  return {
    rows: (query, parameters) => rows(client, signal, query, parameters),
    stream: async function* (query) {
      const answer = await unlessStopped(signal, () =>
        client.query({
          query,
          clickhouse_settings: { http_send_timeout: 3_600 },
          abort_signal: signal,
          format: 'JSONCompactEachRow',
        }),
      );
      const batches = answer.stream<ValueRow>()[Symbol.asyncIterator]();
      for (;;) {
        const batch = await unlessStopped(signal, () => batches.next());
        if (batch.done === true) return;
        for (const row of batch.value) yield row.json();
      }
    },
    command: (query, parameters = {}) =>
      unlessStopped(
        signal,
        async () =>
          void (await client.command({
            query,
            query_params: parameters,
            clickhouse_settings: patient,
            abort_signal: signal,
          })),
      ),
    insert: async (statement, bytes, compression = null) => {
      let failure: Error | undefined;
      bytes.once('error', (error) => (failure = error));
      try {
        return await unlessStopped(signal, async () => {
          const { stream, response_headers } = await client.exec({
            query: statement,
            values: bytes,
            clickhouse_settings: insert_settings,
            abort_signal: signal,
            http_headers: compression === null ? {} : { 'Content-Encoding': compression },
          });
          stream.resume();
          await once(stream, 'end');
          return writtenRows(response_headers['x-clickhouse-summary']);
        });
      } catch (error) {
        throw failure ?? error;
      } finally {
        bytes.destroy();
      }
    },
    close,
  };
}

/** Reads the row count from the server's summary of an ended statement. */
function writtenRows(summary: unknown): number {
  return typeof summary === 'string'
    ? Number((JSON.parse(summary) as { written_rows?: string }).written_rows ?? 0)
    : 0;
}

function notingProgress(
  connection: Calls,
  { noteProgress }: Pick<DestinationDeps, 'noteProgress'>,
): Calls {
  const noted = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work;
    noteProgress?.();
    return result;
  };
  return {
    ...connection,
    rows: (query, parameters) => noted(connection.rows(query, parameters)),
    command: (query, parameters) => noted(connection.command(query, parameters)),
  };
}

async function rows<Row>(
  client: ClickHouseClient,
  signal: AbortSignal,
  query: string,
  parameters: Parameters = {},
): Promise<Row[]> {
  return unlessStopped(signal, async () => {
    const result = await client.query({
      query,
      query_params: parameters,
      clickhouse_settings: patient,
      abort_signal: signal,
      format: 'JSONEachRow',
    });
    return result.json<Row>();
  });
}

/**
 * The client's own error for a stop only says that the request was aborted; its errors without a
 * code contain another program's answer.
 */
async function unlessStopped<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  throwIfStopped(signal);
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw stopError(signal);
    throw error instanceof Error && error.name === 'Error' && !('code' in error)
      ? answerError(error)
      : error;
  }
}
