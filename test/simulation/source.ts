import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';

/** An event of the source. Instants in milliseconds. */
export type SourceRow = { uuid: string; instant: number; inserted_at: number; digest: '' };

type Question = { query: string; query_params?: Record<string, unknown> };

/**
 * Opens a store in memory with the events of one project. It answers the queries of exports: how
 * many events match a condition on their two times, and which. Any other query fails as if the
 * store were down, as do the next `lost.looks` ones.
 */
export function openSource(team_id: number): {
  rows: SourceRow[];
  clickhouse: ClickHouse;
  lost: { looks: number };
} {
  const rows: SourceRow[] = [];
  const lost = { looks: 0 };
  const select = ({ query, query_params = {} }: Question): SourceRow[] => {
    const asked = [query_params['team_id'] ?? query_params['team_ids']].flat().map(Number);
    if (!asked.includes(team_id)) return [];
    const meets = conditionOf(query, query_params);
    return rows
      .filter(meets)
      .toSorted(
        (one, other) => one.inserted_at - other.inserted_at || (one.uuid < other.uuid ? -1 : 1),
      );
  };
  const answer = (question: Question): object[] => {
    const found = select(question);
    if (question.query.startsWith('SELECT team_id, count() AS records'))
      return found.length === 0 ? [] : [{ team_id, records: found.length }];
    if (question.query.includes(' AS all_records')) return countByRun(question, found);
    assert.match(
      question.query,
      /^SELECT .*toUInt64\(count\(\)\) AS records FROM \(SELECT \* FROM events WHERE/s,
    );
    const instants = found.map(({ inserted_at }) => inserted_at);
    return [
      {
        inserted_from: text(Math.min(...instants, Infinity)),
        inserted_to: text(Math.max(...instants, -Infinity) + 0.001),
        records: found.length,
      },
    ];
  };
  const store = {
    mode: { kind: 'one_node' },
    rows: async (question: Question) => {
      if (lost.looks > 0) {
        lost.looks -= 1;
        throw new Error('The store does not answer.');
      }
      return answer(question);
    },
    exec: async (question: Question) => {
      assert.match(question.query, /FORMAT TSVRaw\s*$/, question.query);
      const lines = select(question).map(({ uuid }) => `${JSON.stringify({ uuid })}\n`);
      return { stream: Readable.from([Buffer.from(lines.join(''))]) };
    },
  };
  return { rows, lost, clickhouse: store as unknown as ClickHouse };
}

/** Counts the events of each run of a backfill. The runs begin where the intervals in UTC do. */
function countByRun({ query, query_params }: Question, found: SourceRow[]): object[] {
  const by = query.includes('inserted_at AS happened') ? 'inserted_at' : 'instant';
  const day = 24 * 3_600_000;
  const length = Number(
    query_params?.['length'] ?? (query.includes('toDayOfWeek') ? 7 * day : day),
  );
  // Days are counted from a Thursday, weeks from a Monday.
  const runOf = (row: SourceRow) => Math.floor((row[by] - (length > day ? 4 * day : 0)) / length);
  const runs = Map.groupBy(found, runOf);
  return [...runs.values()]
    .map((rows) => ({
      first: Math.min(...rows.map((row) => row[by])),
      records: rows.length,
      all_records: found.length,
      all_runs: runs.size,
    }))
    .toSorted((one, other) => one.first - other.first);
}

type Condition = (row: SourceRow) => boolean;

/** Returns the condition of a query, from its own text; throws for an unknown part. */
function conditionOf(query: string, parameters: Record<string, unknown>): Condition {
  const parts = [...query.matchAll(/\bWHERE\b/g)].map(({ index }) =>
    readCondition(clause(query, index + 5), parameters),
  );
  return (row) => parts.every((meets) => meets(row));
}

const token =
  /\s*(\(|\)|AND\b|OR\b|0\b|1\b|team_id (?:= \{team_id:Int64\}|IN \{team_ids:Array\(Int64\)\})|(?:inserted_at|timestamp) (?:>=|<) (?:fromUnixTimestamp64Milli\(-?\d+, 'UTC'\)|\{inserted_(?:from|to):DateTime64\(6, 'UTC'\)\}))/y;

/** Reads `AND`, `OR`, brackets, and comparisons of the two times. */
function readCondition(text: string, parameters: Record<string, unknown>): Condition {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.trimEnd().length) {
    const found = token.exec(text)?.[1];
    assert.ok(found !== undefined, `The source does not understand: ${text}`);
    tokens.push(found);
  }
  const either = (): Condition => {
    const parts = [every()];
    while (tokens[0] === 'OR') parts.push((tokens.shift(), every()));
    return (row) => parts.some((meets) => meets(row));
  };
  const every = (): Condition => {
    const parts = [one()];
    while (tokens[0] === 'AND') parts.push((tokens.shift(), one()));
    return (row) => parts.every((meets) => meets(row));
  };
  const one = (): Condition => {
    const next = tokens.shift()!;
    if (next !== '(') return comparison(next, parameters);
    const inner = either();
    assert.equal(tokens.shift(), ')', text);
    return inner;
  };
  const whole = either();
  assert.equal(tokens.length, 0, `The source does not understand: ${text}`);
  return whole;
}

function comparison(text: string, parameters: Record<string, unknown>): Condition {
  // The project of the rows is checked before.
  if (text.startsWith('team_id') || text === '1') return () => true;
  if (text === '0') return () => false;
  const [, column, sign, bound] = /^(\w+) (>=|<) (.*)$/.exec(text)!;
  const name = /^\{(\w+):/.exec(bound!)?.[1];
  const at =
    name === undefined
      ? Number(/\((-?\d+),/.exec(bound!)![1])
      : milliseconds(parameters[name] as string);
  const timeOf = (row: SourceRow) => (column === 'timestamp' ? row.instant : row.inserted_at);
  return sign === '<' ? (row) => timeOf(row) < at : (row) => timeOf(row) >= at;
}

/** Returns the text of a condition, up to the end of its query. */
function clause(query: string, from: number): string {
  let depth = 0;
  for (let at = from; at < query.length; at += 1) {
    if (query[at] === '(') depth += 1;
    if (query[at] === ')') depth -= 1;
    const ends =
      depth < 0 || (depth === 0 && /^\s(GROUP|ORDER|FORMAT|LIMIT)\b/.test(query.slice(at)));
    if (ends) return query.slice(from, at);
  }
  return query.slice(from);
}

function text(instant: number): string {
  if (!Number.isFinite(instant)) return '1970-01-01 00:00:00.000000';
  const whole = Math.floor(instant);
  const micro = Math.round((instant - whole) * 1000);
  const written = new Date(whole).toISOString().slice(0, -1).replace('T', ' ');
  return `${written}${String(micro).padStart(3, '0')}`;
}

function milliseconds(instant: string): number {
  const [whole, fraction = ''] = instant.split('.');
  const at = Date.parse(`${whole!.replace(' ', 'T')}Z`);
  return at + Number(fraction.padEnd(6, '0').slice(0, 6)) / 1000;
}
