import { resolve } from 'node:path';
import { literal } from '../../clickhouse/quote.ts';
import { openAddon } from './addon.ts';

/** The directions in which a format works. */
type FormatUse = { is_input: boolean; is_output: boolean };

/**
 * The engine on one data folder. Every operation has its own connection, so that it never sees
 * settings or leftovers of another one.
 */
export type Engine = {
  /** Runs SQL and returns its answer. Rejects with the engine's error. */
  run(sql: string, format?: string): Promise<Uint8Array>;
  /** Runs an INSERT and returns the number of rows that it has read and stored. */
  insert(sql: string): Promise<number>;
  /**
   * Asks the engine to stop the query under `label` and resolves when it has confirmed: true if a
   * query ran under it.
   */
  kill(label: string): Promise<boolean>;
  /**
   * Finds the directions of a format by its name in any case; undefined if no such format exists.
   */
  findFormat(name: string): FormatUse | undefined;
  close(): void;
};

/**
 * Opens the engine on `folder`, which one process at a time can hold: throws the engine's error if
 * another does. `memory_bytes_max` bounds all queries together.
 */
export async function openEngine(folder: string, memory_bytes_max: number): Promise<Engine> {
  const addon = openAddon();
  const settings = [
    `--max_server_memory_usage=${memory_bytes_max}`,
    '--http_max_tries=2',
    // Its own memory count drifts over thousands of queries, until it refuses every query; so the
    // count is corrected by the allocator's size. By default it would read the control group, which
    // includes other processes.
    '--memory_worker_correct_memory_tracker=1',
    '--memory_worker_use_cgroup=0',
    '--memory_worker_period_ms=200',
  ];
  const open = () => addon.CreateConnection(resolve(folder), settings);
  // The engine shuts down with its last connection.
  const keeper = open();
  const ask = async (sql: string, format: string) => {
    // A failed query leaves its bytes in the connection for the next one, and SET persists: a
    // connection is never used twice (it costs 0.1 ms).
    const connection = open();
    try {
      return await addon.QueryAsyncConnection(connection, sql, format);
    } finally {
      // Its one query has finished: closing the connection earlier would crash the engine.
      addon.CloseConnection(connection);
    }
  };
  const run = async (sql: string, format = 'TabSeparated') => (await ask(sql, format)).bytes;
  const listed = Buffer.from(
    await run(
      'SELECT lower(name) AS name, is_input, is_output FROM system.formats',
      'JSONCompactEachRow',
    ),
  ).toString();
  const formats = new Map(
    listed
      .trim()
      .split('\n')
      .map((line) => {
        const [name, isInput, isOutput] = JSON.parse(line) as [string, number, number];
        return [name, { is_input: isInput === 1, is_output: isOutput === 1 }];
      }),
  );
  return {
    run,
    insert: async (sql) => (await ask(sql, 'TabSeparated')).rowsRead,
    async kill(label) {
      const answer = await run(
        `KILL QUERY WHERE Settings['log_comment'] = ${literal(label)} ASYNC`,
      );
      return answer.length > 0;
    },
    findFormat: (name) => formats.get(name.toLowerCase()),
    close: () => addon.CloseConnection(keeper),
  };
}

const repeated = /^(?:Code: \d+\. DB::Exception: )+(?=Code: \d+\. DB::Exception: )/;

/**
 * The fault as clients see it: ClickHouse's own text with its code, once, and without paths of our
 * pipes.
 */
export type Fault = { code: number; status: number; text: string };

const statusOfCode: Record<number, number> = {
  27: 400,
  36: 400,
  38: 400,
  41: 400,
  43: 400,
  44: 400,
  46: 404,
  47: 404,
  53: 400,
  60: 404,
  62: 400,
  73: 404,
  81: 404,
  115: 404,
  117: 400,
  164: 403,
  202: 503,
  457: 400,
  516: 401,
};

/** Returns a fault of our own, in ClickHouse's format. */
export function fault(code: number, type: string, sentence: string): Fault {
  return {
    code,
    status: statusOfCode[code] ?? 500,
    text: `Code: ${code}. DB::Exception: ${sentence} (${type})`,
  };
}

/**
 * Returns the engine's error in the form that ClickHouse's clients know: `Code: 62. DB::Exception:
 * ... (SYNTAX_ERROR)`.
 */
export function faultOf(error: unknown): Fault {
  const text = String(error instanceof Error ? error.message : error)
    .replace(repeated, '')
    .replace(/: \(in file\/uri [^)]*\)/g, '')
    .replace(/: While executing File: data for INSERT was parsed from file\./g, '')
    .replace(/( \([A-Z_]+\))(?: \(version [^)]*\)\.?)? *\.?\1$/, '$1');
  const code = Number(/^Code: (\d+)/.exec(text)?.[1] ?? 0);
  if (code === 0) return fault(1000, 'UNKNOWN_EXCEPTION', text || 'The engine gave no reason.');
  return { code, status: statusOfCode[code] ?? 500, text };
}
