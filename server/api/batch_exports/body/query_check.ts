import { checkQuery, columnsOfQuery, schemaOf } from '../../../engine/query/custom_query.ts';
import type { CheckedQuery, QuerySchema } from '../../../engine/query/custom_query.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { Column } from '../../../engine/models/column.ts';
import { resolveQuery } from '../../../engine/query/query.ts';
import { QueryError } from '../../../engine/query/query_error.ts';
import type { QueryFault } from '../../../engine/query/query_error.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { whileWaiting } from '../../../platform/http/while_waiting.ts';
import { modelNames, query_characters_max } from '../schema.ts';

/** What decides which rows and columns an export has. */
export type Content = {
  model: 'events' | 'persons';
  custom_query: string | null;
  schema: QuerySchema | null;
};

/**
 * The content of an export after a change. `columns` are those of its query, undefined without one
 * and for a stored one that is not understood any more.
 */
export type QueryCheck = {
  content: Content;
  is_changed: boolean;
  columns: Column[] | undefined;
  violations: Violation[];
};

/**
 * Checks the query that an export has after a change, given the body as it was sent and the export
 * as it is (undefined for a new one).
 */
export type CheckContent = (raw: unknown, current: Content | undefined) => Promise<QueryCheck>;

/**
 * The check of one request. Guarantee: the store is asked once for the same query and model,
 * however often the check is called, so that what was checked ahead of a transaction costs nothing
 * inside of it; what does not change is not checked again. Answers 503 when the store does not
 * answer in time.
 */
export function openQueryCheck(engine: Engine): CheckContent {
  const asked = new Map<string, Promise<CheckedQuery>>();
  const ask = (text: string, model: Content['model']): Promise<CheckedQuery> => {
    const key = JSON.stringify([model, text]);
    const answer =
      asked.get(key) ?? whileWaiting((signal) => checkQuery(engine, text, model, signal));
    asked.set(key, answer);
    return answer;
  };
  return async (raw, current) => {
    const wanted = wantedContent(raw, current);
    const { model, custom_query } = wanted;
    const is_changed =
      current === undefined || model !== current.model || custom_query !== current.custom_query;
    if (custom_query === null)
      return {
        content: { ...wanted, schema: null },
        is_changed,
        columns: undefined,
        violations: [],
      };
    if (!is_changed)
      return {
        content: current,
        is_changed,
        columns: knownColumns(custom_query, model),
        violations: [],
      };
    const answer = await ask(custom_query, model);
    if ('faults' in answer)
      return {
        content: { ...wanted, schema: null },
        is_changed,
        columns: undefined,
        violations: answer.faults.map(violationOf),
      };
    return {
      content: { ...wanted, schema: schemaOf(answer.query) },
      is_changed,
      columns: columnsOfQuery(answer.query),
      violations: [],
    };
  };
}

/**
 * Model and query after the change. What the schema of the body refuses is left as it was, so that
 * one fault is not told as two.
 */
function wantedContent(
  raw: unknown,
  current: Content | undefined,
): Pick<Content, 'model' | 'custom_query'> {
  const { model, custom_query } = (typeof raw === 'object' && raw !== null ? raw : {}) as {
    model?: unknown;
    custom_query?: unknown;
  };
  const isSent =
    custom_query === null || (typeof custom_query === 'string' && !isTooLong(custom_query));
  return {
    model: modelNames.find((name) => name === model) ?? current?.model ?? 'events',
    custom_query: isSent ? custom_query : (current?.custom_query ?? null),
  };
}

/** Counts characters as the schema of the body does; a character has two UTF-16 units at most. */
function isTooLong(text: string): boolean {
  return text.length > 2 * query_characters_max || [...text].length > query_characters_max;
}

function knownColumns(text: string, model: Content['model']): Column[] | undefined {
  try {
    return columnsOfQuery(resolveQuery(text, { model }));
  } catch (error) {
    if (error instanceof QueryError) return undefined;
    throw error;
  }
}

/** A fault of a query as an entry of a 400: where it is, what stands there, what to do. */
function violationOf({ line, column, piece, message, suggestion }: QueryFault): Violation {
  const shown = piece.replaceAll(/\s+/g, ' ').trim();
  const place = `Line ${line}, column ${column}${shown === '' ? '' : ` (\`${shown}\`)`}`;
  const meant = suggestion === undefined ? '' : ` Did you mean \`${suggestion}\`?`;
  return {
    attr: 'custom_query',
    code: 'invalid_input',
    detail: `${place}: ${message}${meant}`,
  };
}
