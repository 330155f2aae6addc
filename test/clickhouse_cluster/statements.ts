import { readStatement } from '../../server/platform/embedded/clickhouse/statement.ts';

/**
 * The kind of a statement for a cluster. `definition` is about a table as such, `change` about the
 * rows or columns of one, `read` everything else. `all` is true with `ON CLUSTER`, which is removed
 * from the text.
 */
export type ClusterStatement =
  | { kind: 'rows'; table: string; text: string }
  | { kind: 'selected_rows'; table: string; into: string; select: string }
  | { kind: 'definition' | 'change'; table: string; text: string; all: boolean }
  | { kind: 'sync'; table: string | undefined }
  | { kind: 'kill'; condition: string; all: boolean }
  | { kind: 'take_back'; condition: string }
  | { kind: 'read'; text: string };

const name = String.raw`((?:[\w.]|\x60[^\x60]+\x60)+)`;
const blank = String.raw`\s+`;
const insert = new RegExp(
  `^\\s*INSERT${blank}INTO${blank}(?:TABLE${blank}(?!FUNCTION))?${name}`,
  'i',
);
const definition = new RegExp(
  `^\\s*(?:CREATE|DROP|RENAME|ATTACH|DETACH|EXCHANGE)${blank}(?:OR${blank}REPLACE${blank})?` +
    `(?:TABLE|TABLES|VIEW|MATERIALIZED${blank}VIEW|DATABASE)${blank}` +
    `(?:IF${blank}(?:NOT${blank})?EXISTS${blank})?${name}`,
  'i',
);
const change = new RegExp(
  `^\\s*(?:ALTER|TRUNCATE)${blank}TABLE${blank}(?:IF${blank}EXISTS${blank})?${name}`,
  'i',
);
const sync = new RegExp(`^\\s*SYSTEM${blank}SYNC${blank}REPLICA${blank}${name}`, 'i');
const sync_database = /^\s*SYSTEM\s+SYNC\s+DATABASE\s+REPLICA\b/i;
const kill =
  /^\s*KILL\s+QUERY\s+(ON\s+CLUSTER\s+\S+\s+)?WHERE\s+([\s\S]+?)(?:\s+(?:A?SYNC|TEST))?\s*$/i;
const take_back = /^\s*KILL\s+MUTATION\s+WHERE\s+([\s\S]+?)(?:\s+A?SYNC)?\s*$/i;
const on_cluster = /\s+ON\s+CLUSTER\s+(?:'[^']*'|[\w.{}-]+)/i;

/** Parses a statement without the data after it. Names are without quotes. */
export function readClusterStatement(text: string): ClusterStatement {
  const inserted = insert.exec(text)?.[1];
  if (inserted !== undefined) return readInsert(text, plain(inserted));
  const synced = sync.exec(text)?.[1];
  if (synced !== undefined) return { kind: 'sync', table: plain(synced) };
  if (sync_database.test(text)) return { kind: 'sync', table: undefined };
  const killed = kill.exec(text);
  if (killed !== null) return { kind: 'kill', condition: killed[2]!, all: killed[1] !== undefined };
  const condition = take_back.exec(text)?.[1];
  if (condition !== undefined) return { kind: 'take_back', condition };
  for (const [kind, pattern] of [
    ['definition', definition],
    ['change', change],
  ] as const) {
    const table = pattern.exec(text)?.[1];
    if (table === undefined) continue;
    return {
      kind,
      table: plain(table),
      all: on_cluster.test(text),
      text: text.replace(on_cluster, ''),
    };
  }
  return { kind: 'read', text };
}

function readInsert(text: string, table: string): ClusterStatement {
  // The text after the FORMAT is data.
  if (readStatement(text).kind === 'insert') return { kind: 'rows', table, text };
  const at = /\b(?:SELECT|WITH)\b/i.exec(text)?.index ?? text.length;
  return { kind: 'selected_rows', table, into: text.slice(0, at), select: text.slice(at) };
}

function plain(quoted: string): string {
  return quoted.replaceAll('`', '');
}

const literal = String.raw`'(?:[^'\\]|\\[\s\S]|'')*'`;

/** Replaces the matches of a pattern outside of string literals. */
export function replaceOutsideTexts(
  text: string,
  pattern: RegExp,
  by: (found: string[]) => string,
): string {
  return text.replaceAll(
    new RegExp(`${literal}|${pattern.source}`, 'gi'),
    (whole: string, ...found: unknown[]) =>
      whole.startsWith("'")
        ? whole
        : by([whole, ...found.filter((one): one is string => typeof one === 'string')]),
  );
}

/** Returns how a new table stores its rows, with its own path in Keeper if it names one. */
export function readEngine(text: string): { is_replicated: boolean; path?: string | undefined } {
  const found = replicated_engine.exec(text);
  return { is_replicated: found !== null, path: found?.[2] };
}

const paths = String.raw`(?:'([^']*)'\s*,\s*'[^']*'\s*,?)?`;
const replicated_engine = new RegExp(
  String.raw`\bENGINE\s*=\s*Replicated(\w*MergeTree)(?:\s*\(\s*${paths}\s*([^)]*)\))?`,
  'i',
);

/** Returns the statement for an engine without Keeper. */
export function withoutReplication(text: string): string {
  return text.replace(
    replicated_engine,
    (_whole, engine: string, _path: string | undefined, rest: string | undefined) =>
      `ENGINE = ${engine}${rest === undefined || rest === '' ? '' : `(${rest})`}`,
  );
}
