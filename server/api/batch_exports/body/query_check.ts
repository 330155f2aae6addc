import { checkQuery, columnsOfQuery, schemaOf } from '../../../engine/query/custom_query.ts';
import type { QuerySchema } from '../../../engine/query/custom_query.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import type { Column } from '../../../engine/model/models/column.ts';
import { resolveQuery } from '../../../engine/query/query.ts';
import { QueryError } from '../../../engine/query/query_error.ts';
import type { QueryFault } from '../../../engine/query/query_error.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { whileWaiting } from '../../../platform/http/while_waiting.ts';
import { query_characters_max } from '../schema.ts';
import { model_names } from '../../../engine/model/models/model.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';

/** The fields that decide an export's rows and columns. */
export type Content = {
  model: ModelName;
  custom_query: string | null;
  schema: QuerySchema | null;
};

/**
 * The content of an export before and after a change; `before` is undefined for a new export.
 * `columns` are the columns of its query; undefined without a query, or if a stored query is no
 * longer valid.
 */
export type QueryCheck = {
  before: Content | undefined;
  content: Content;
  is_changed: boolean;
  columns: Column[] | undefined;
  violations: Violation[];
};

/**
 * Checks the query of an export after a change, given the body as sent and the current export
 * (undefined for a new one). Asks the store about a change, so call it before the transaction.
 * Answers 503 if the store does not answer in time.
 */
export async function checkContent(
  engine: Engine,
  raw: unknown,
  before: Content | undefined,
): Promise<QueryCheck> {
  const wanted = wantedContent(raw, before);
  const { model, custom_query } = wanted;
  const is_changed = before === undefined || !isSameContent(wanted, before);
  const checked = { before, is_changed, columns: undefined, violations: [] };
  const content = { ...wanted, schema: null };
  if (custom_query === null) return { ...checked, content };
  if (!is_changed)
    return { ...checked, content: before, columns: knownColumns(custom_query, model) };
  const answer = await whileWaiting((signal) => checkQuery(engine, custom_query, model, signal));
  if ('faults' in answer)
    return { ...checked, content, violations: answer.faults.map(violationOf) };
  return {
    ...checked,
    content: { ...content, schema: schemaOf(answer.query) },
    columns: columnsOfQuery(answer.query),
  };
}

/**
 * Returns the check that was made before the export was locked. Repeats the check if there is none,
 * or if another request has changed the export's content since.
 */
export async function contentOfLocked(
  engine: Engine,
  raw: unknown,
  ahead: QueryCheck | undefined,
  locked: Content,
): Promise<QueryCheck> {
  const holds = ahead?.before !== undefined && isSameContent(ahead.before, locked);
  return holds ? ahead : checkContent(engine, raw, locked);
}

function isSameContent(one: Wanted, other: Wanted): boolean {
  return one.model === other.model && one.custom_query === other.custom_query;
}

type Wanted = Pick<Content, 'model' | 'custom_query'>;

/**
 * Returns model and query after the change. A field that the schema refuses keeps its stored value,
 * so that one fault is not reported twice.
 */
function wantedContent(raw: unknown, current: Content | undefined): Wanted {
  const { model, custom_query } = (typeof raw === 'object' && raw !== null ? raw : {}) as {
    model?: unknown;
    custom_query?: unknown;
  };
  const isSent =
    custom_query === null || (typeof custom_query === 'string' && !isTooLong(custom_query));
  return {
    model: model_names.find((name) => name === model) ?? current?.model ?? 'events',
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

/** Returns a fault of a query as an entry of a 400: its place, the text there, and what to do. */
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
