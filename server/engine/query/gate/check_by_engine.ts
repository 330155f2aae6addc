import { text as textOf } from 'node:stream/consumers';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { literal } from '../../destinations/formats/expression.ts';
import { matchesEngineType } from './engine_type.ts';
import { findForeignNode } from './gate.ts';
import { QueryError, queryError } from '../query_error.ts';
import { queryRelation } from '../query.ts';
import type { QueryRelation, ResolvedQuery } from '../query.ts';
import { explainEngineError, isEngineError } from './engine_error.ts';

/**
 * The options of a query to the store: `settings` come from `querySettings`, like those of the run.
 */
export type EngineCheck = {
  clickhouse: ClickHouse;
  settings: Record<string, string | number>;
  signal?: AbortSignal;
};

/**
 * Thrown if a printed query contains a node that no printed query may have: a bug in this program.
 * The query never runs, and each attempt fails alike.
 */
export class ForeignNodeError extends Error {
  constructor(node: string) {
    super(
      `A printed query was stopped at the gate because of ${node.slice(0, 100)}. Report this ` +
        'with the query.',
    );
    this.name = 'ForeignNodeError';
  }
}

/**
 * Runs the last check before a printed query runs: ClickHouse parses the text without running it,
 * and the tree may only contain nodes that the printer writes. Otherwise throws a
 * `ForeignNodeError`. `formatQuery` comes first, because it accepts a single statement, while
 * EXPLAIN would run a second one.
 */
export async function gateRelation(
  { clickhouse, signal }: EngineCheck,
  relation: QueryRelation,
): Promise<void> {
  const options = {
    clickhouse_settings: { readonly: '1', max_query_size: '16000000', max_parser_depth: '2000' },
    abort_signal: signal,
    use_multipart_params_auto: true,
  } as const;
  const { text, parameters } = emptied(relation.text);
  const [row] = await clickhouse.rows<{ text: string }>({
    query: `SELECT formatQuery(${literal(`SELECT * FROM ${text}`)}) AS text`,
    ...options,
  });
  const { stream } = await clickhouse.exec({
    query: `EXPLAIN AST ${row?.text ?? ''}`,
    query_params: parameters,
    ...options,
  });
  const lines = (await textOf(stream)).split('\n');
  const foreign = findForeignNode(lines.filter((line) => line !== ''));
  if (foreign !== undefined) throw new ForeignNodeError(foreign);
}

/**
 * Returns the text with one empty placeholder for each type: contents do not change the tree, and a
 * thousand of them do not fit beside EXPLAIN.
 */
function emptied(text: string): { text: string; parameters: Record<string, string> } {
  const names = new Map<string, string>();
  const placed = text.replace(/\{\w+:([^}]+)\}/g, (_whole, type: string) => {
    const name = names.get(type) ?? `p${names.size}`;
    names.set(type, name);
    return `{${name}:${type}}`;
  });
  return {
    text: placed,
    parameters: Object.fromEntries(Array.from(names, ([type, name]) => [name, emptyOf(type)])),
  };
}

function emptyOf(type: string): string {
  if (type.startsWith('Array')) return '[]';
  if (type === 'String') return '';
  if (type === 'UUID') return '00000000-0000-0000-0000-000000000000';
  return type.startsWith('Date') ? '2000-01-01' : '0';
}

/**
 * Checks a query when it is stored: the gate, ClickHouse's column types against the inferred ones,
 * its regular expressions, and a run over no rows. Reads no data of the project. Throws a
 * `QueryError` with the author's own line and column for faults that only ClickHouse finds. Faults
 * that depend on values, such as a division by zero, can still fail a run.
 */
export async function checkByEngine(check: EngineCheck, query: ResolvedQuery): Promise<void> {
  const nothing = queryRelation(query, { team_id: 0, selection: [], data_interval_end: 0 });
  await gateRelation(check, nothing);
  await checkPatterns(check, query, nothing);
  const described = await ask<{ type: string }>(
    check,
    query,
    `DESCRIBE TABLE ${nothing.typed.text}`,
    nothing,
  );
  for (const [index, column] of query.columns.entries()) {
    const [type, found] = [nothing.typed.types[index]!, described[index]?.type ?? 'nothing'];
    if (!matchesEngineType(type, found))
      throw queryError(query.text, [
        {
          message:
            `The store makes ${found} of the column \`${column.name}\`: convert it to the type ` +
            'that you want, for example with toString.',
          span: query.tree,
        },
      ]);
  }
  await ask(check, query, `SELECT * FROM ${nothing.text} ORDER BY ${nothing.order}`, nothing);
}

async function checkPatterns(
  check: EngineCheck,
  query: ResolvedQuery,
  relation: QueryRelation,
): Promise<void> {
  if (relation.patterns.length === 0) return;
  const test = (placeholders: string[]) =>
    ask(
      check,
      query,
      `SELECT ${placeholders.map((placeholder) => `match('', ${placeholder})`).join(', ')}`,
      relation,
    );
  const isRight = await test(relation.patterns.map(({ placeholder }) => placeholder)).then(
    () => true,
    rethrowOthers,
  );
  if (isRight) return;
  for (const { placeholder, span } of relation.patterns)
    await test([placeholder]).catch((error: unknown) => {
      rethrowOthers(error);
      throw queryError(query.text, [
        {
          message:
            'This regular expression is not valid in RE2: check its brackets and escapes (a ' +
            'backslash is written \\\\).',
          span,
        },
      ]);
    });
}

/** A store that does not answer says nothing about the query. */
function rethrowOthers(error: unknown): false {
  if (error instanceof QueryError) return false;
  throw error;
}

/** Returns the rows of an answer; an error of ClickHouse becomes a `QueryError`. */
async function ask<Row>(
  { clickhouse, settings, signal }: EngineCheck,
  query: ResolvedQuery,
  text: string,
  relation: QueryRelation,
): Promise<Row[]> {
  try {
    return await clickhouse.rows({
      query: text,
      query_params: relation.parameters,
      clickhouse_settings: settings,
      abort_signal: signal,
      use_multipart_params_auto: true,
    });
  } catch (error) {
    throw isEngineError(error) ? explainEngineError(query, error) : error;
  }
}
