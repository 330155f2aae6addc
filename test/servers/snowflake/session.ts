import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { SnowflakeRefusal, refusalOf, translate } from './dialect.ts';
import type { SnowflakeStorage } from './storage.ts';

/** The parts of the account besides its schemas, which are those of the PostgreSQL behind it. */
export type SnowflakeAccount = {
  database_url: string;
  databases: string[];
  warehouses: string[];
  roles: string[];
  storage: SnowflakeStorage;
};

/** A column of an answer, with its type in the protocol. */
type AnsweredColumn = { name: string; type: 'text' | 'fixed' | 'real' | 'boolean' };

/** An answer: rows of texts, or the place for the client's upload. */
export type SnowflakeAnswer =
  | { columns: AnsweredColumn[]; rows: (string | null)[][] }
  | { transfer: Record<string, unknown> };

/**
 * A session of the account: a connection to the PostgreSQL behind it. It has its own temporary
 * tables and stages, locks and open transaction.
 */
export type SnowflakeSession = {
  /** Throws `SnowflakeRefusal`. */
  execute(statement: string, values: (string | null)[]): Promise<SnowflakeAnswer>;
  /** Rolls back, and forgets the temporary objects. */
  close(): Promise<void>;
};

type State = {
  client: pg.Client;
  account: SnowflakeAccount;
  stages: Set<string>;
  has_warehouse: boolean;
  is_in_transaction: boolean;
  id: string;
};

const wire_types: Record<number, AnsweredColumn['type']> = {
  16: 'boolean',
  20: 'fixed',
  21: 'fixed',
  23: 'fixed',
  1700: 'fixed',
  701: 'real',
};

/**
 * The only format of the stand-in: PostgreSQL's COPY with `FORMAT csv`. An empty field without
 * quotes is null, and quotes are doubled.
 */
const file_format =
  `(TYPE = CSV COMPRESSION = GZIP RECORD_DELIMITER = '\\n' FIELD_DELIMITER = ',' ` +
  `FIELD_OPTIONALLY_ENCLOSED_BY = '"' ESCAPE = NONE ESCAPE_UNENCLOSED_FIELD = NONE NULL_IF = () ` +
  'EMPTY_FIELD_AS_NULL = TRUE TRIM_SPACE = FALSE SKIP_BLANK_LINES = FALSE ' +
  'ERROR_ON_COLUMN_COUNT_MISMATCH = TRUE REPLACE_INVALID_CHARACTERS = FALSE ' +
  `SKIP_BYTE_ORDER_MARK = FALSE ENCODING = 'UTF8')`;

const name = '"((?:[^"]|"")+)"';
const forms: [RegExp, (state: State, match: RegExpExecArray) => Promise<SnowflakeAnswer>][] = [
  [new RegExp(`^USE (ROLE|WAREHOUSE|DATABASE|SCHEMA) ${name}$`), use],
  [/^ALTER SESSION SET (.+)$/s, alterSession],
  [new RegExp(`^CREATE TEMPORARY STAGE ${name}$`), createStage],
  [
    new RegExp(
      `^PUT file://(\\w+\\.csv\\.gz) @${name}/(\\w+) AUTO_COMPRESS = FALSE SOURCE_COMPRESSION ` +
        '= GZIP OVERWRITE = TRUE$',
    ),
    put,
  ],
  [
    new RegExp(
      `^COPY INTO (${name}) FROM @${name}/(\\w+)/ FILE_FORMAT = (.+) ON_ERROR\\s+= ` +
        'ABORT_STATEMENT PURGE = TRUE$',
    ),
    copy,
  ],
];

let sessions = 0;

/** Opens a session without a database or schema. */
export async function openSnowflakeSession(account: SnowflakeAccount): Promise<SnowflakeSession> {
  const client = new pg.Client({
    connectionString: account.database_url,
    options: '-c timezone=UTC',
    types: { getTypeParser: () => (value: string) => value },
  });
  client.on('error', () => undefined);
  await client.connect();
  const state: State = {
    client,
    account,
    stages: new Set(),
    has_warehouse: false,
    is_in_transaction: false,
    id: String((sessions += 1)),
  };
  return {
    execute: async (statement, values) => {
      try {
        for (const [pattern, run] of forms) {
          const match = pattern.exec(statement);
          if (match !== null) return await run(state, match);
        }
        return await query(state, statement, values);
      } catch (error) {
        throw refusalOf(error);
      }
    },
    close: () => client.end(),
  };
}

const done: SnowflakeAnswer = {
  columns: [{ name: 'status', type: 'text' }],
  rows: [['Statement executed successfully.']],
};

async function use(
  state: State,
  [, kind = '', quoted = '']: RegExpExecArray,
): Promise<SnowflakeAnswer> {
  const { client, account } = state;
  const chosen = quoted.replaceAll('""', '"');
  const found = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [chosen]);
  const isThere = {
    ROLE: account.roles,
    WAREHOUSE: account.warehouses,
    DATABASE: account.databases,
    SCHEMA: found.rows.length > 0 ? [chosen] : [],
  }[kind]?.includes(chosen);
  if (isThere !== true)
    throw new SnowflakeRefusal(
      '002043',
      '02000',
      'SQL compilation error:\nObject does not exist, or operation cannot be performed.',
    );
  if (kind === 'WAREHOUSE') state.has_warehouse = true;
  if (kind === 'SCHEMA') await client.query(`SET search_path = "${quoted}", snowflake_parts`);
  return done;
}

const session_parameters = [
  'QUOTED_IDENTIFIERS_IGNORE_CASE',
  'TIMEZONE',
  'AUTOCOMMIT',
  'LOCK_TIMEOUT',
  'ABORT_DETACHED_QUERY',
];

async function alterSession(
  { client }: State,
  [, list = '']: RegExpExecArray,
): Promise<SnowflakeAnswer> {
  for (const [, parameter = '', value] of list.matchAll(/(\w+) = ('\w+'|\w+)/g)) {
    if (!session_parameters.includes(parameter))
      throw new SnowflakeRefusal('001003', '42000', `invalid parameter ${parameter}`);
    if (parameter === 'LOCK_TIMEOUT') await client.query(`SET lock_timeout = '${value}s'`);
  }
  return done;
}

async function createStage(
  { stages }: State,
  [, stage = '']: RegExpExecArray,
): Promise<SnowflakeAnswer> {
  stages.add(stage);
  return done;
}

function folderOf({ stages, id }: State, stage: string, folder: string): string {
  if (!stages.has(stage))
    throw new SnowflakeRefusal(
      '002003',
      '02000',
      `SQL compilation error:\nStage '${stage}' does not exist or not authorized.`,
    );
  return `session_${id}/${stage}/${folder}`;
}

async function put(
  state: State,
  [, file = '', stage = '', folder = '']: RegExpExecArray,
): Promise<SnowflakeAnswer> {
  return { transfer: state.account.storage.transferTo(folderOf(state, stage, folder), file) };
}

async function copy(
  state: State,
  [, table = '', , stage = '', folder = '', format = '']: RegExpExecArray,
): Promise<SnowflakeAnswer> {
  if (format !== file_format)
    throw new SnowflakeRefusal('001003', '42000', `the file format is another one: ${format}`);
  const { client, account } = state;
  requireWarehouse(state);
  const place = folderOf(state, stage, folder);
  const files = account.storage.read(place);
  if (files.size === 0)
    return {
      columns: [{ name: 'status', type: 'text' }],
      rows: [['Copy executed with 0 files processed.']],
    };
  const rows: (string | null)[][] = [];
  await client.query('BEGIN');
  try {
    for (const [path, bytes] of files) {
      const loading = client.query(copyFrom(`COPY ${table} FROM STDIN WITH (FORMAT csv)`));
      await pipeline(Readable.from([bytes]), loading);
      rows.push([path, 'LOADED', String(loading.rowCount)]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
  account.storage.remove(place);
  return {
    columns: [
      { name: 'file', type: 'text' },
      { name: 'status', type: 'text' },
      { name: 'rows_loaded', type: 'fixed' },
    ],
    rows,
  };
}

function requireWarehouse({ has_warehouse }: State): void {
  if (!has_warehouse)
    throw new SnowflakeRefusal(
      '000606',
      '57P03',
      'No active warehouse selected in the current session. Select an active warehouse with ' +
        "the 'use warehouse' command.",
    );
}

const changes: Record<string, string[]> = {
  INSERT: ['number of rows inserted'],
  UPDATE: ['number of rows updated', 'number of multi-joined rows updated'],
  DELETE: ['number of rows deleted'],
  MERGE: ['number of rows inserted'],
};

async function query(
  state: State,
  statement: string,
  values: (string | null)[],
): Promise<SnowflakeAnswer> {
  requireWarehouse(state);
  const translated = translate(statement);
  // A statement that defines an object ends the open transaction.
  if (state.is_in_transaction && /^(CREATE|ALTER|DROP)/.test(statement)) {
    await state.client.query('COMMIT');
    state.is_in_transaction = false;
  }
  const result = await state.client.query({
    text: translated,
    values: values.length > 0 ? values : (undefined as never),
    rowMode: 'array',
  });
  if (statement === 'BEGIN TRANSACTION') state.is_in_transaction = true;
  if (statement === 'COMMIT' || statement === 'ROLLBACK') state.is_in_transaction = false;
  const counts = changes[result.command];
  if (counts !== undefined)
    return {
      columns: counts.map((column) => ({ name: column, type: 'fixed' })),
      rows: [counts.map((_, index) => (index === 0 ? String(result.rowCount) : '0'))],
    };
  if (!statement.startsWith('SELECT')) return done;
  const columns = result.fields.map((field) => ({
    name: field.name,
    type: wire_types[field.dataTypeID] ?? 'text',
  }));
  const wired = (value: string | null, index: number) =>
    columns[index]?.type === 'boolean' && value !== null ? String(Number(value === 't')) : value;
  return {
    columns,
    rows: (result.rows as unknown as (string | null)[][]).map((row) => row.map(wired)),
  };
}
