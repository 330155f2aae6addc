import { queryError } from '../query_error.ts';
import type { QueryError, Span } from '../query_error.ts';
import type { ResolvedQuery } from '../query.ts';

/** An error of ClickHouse as its client returns it: a number as text, and its name. */
export type EngineError = Error & { code: string; type: string };

// Sentences for ClickHouse's errors in a query that the language accepts, by the name of the error.
// ClickHouse's own words can contain names of the printed text, so they are not shown.
const sentences: Record<string, string> = {
  CANNOT_COMPILE_REGEXP:
    'This regular expression is not valid in RE2: check its brackets and escapes (a backslash is ' +
    'written \\\\).',
  MEMORY_LIMIT_EXCEEDED:
    'The query exceeds its memory limit before it runs: its constant expressions are too large.',
  TIMEOUT_EXCEEDED:
    'The query exceeds its time limit before it runs. Its constant expressions are too ' +
    'large, or the store is busy: try again.',
  TOO_SLOW: 'The query exceeds its time limit.',
  TOO_MANY_ROWS: 'The query exceeds its limit of rows to read: narrow its subqueries.',
  INVALID_JOIN_ON_EXPRESSION:
    'The store cannot join on this condition: ON needs an equality between columns of both tables.',
  NOT_IMPLEMENTED:
    'The store does not support a part of this query. Check three things. ON needs an ' +
    'equality between columns of both tables. The frame of a window must suit its ' +
    'function. Patterns have the documented syntax only.',
  NO_COMMON_TYPE: 'These values have different types: convert them to one type.',
  ILLEGAL_DIVISION: 'This divides by zero.',
  INCORRECT_RESULT_OF_SCALAR_SUBQUERY:
    'A SELECT that is used as a value gives more than one row. Use an aggregate, or LIMIT 1.',
  CANNOT_PARSE_TEXT: 'A text in this expression cannot be converted to its target type.',
  CANNOT_PARSE_BOOL: 'A text in this expression is neither true nor false.',
  CANNOT_PARSE_DATETIME: 'A text in this expression is not a timestamp.',
  CANNOT_PARSE_UUID: 'A text in this expression is not a uuid.',
  CANNOT_PARSE_NUMBER: 'A text in this expression is not a number.',
  TOO_LARGE_STRING_SIZE: 'A text in this expression becomes too long.',
  TOO_DEEP_AST: 'The query is nested too deeply for the store: split it.',
  TOO_BIG_AST: 'The query has too many parts for the store: shorten it.',
  ILLEGAL_TYPE_OF_ARGUMENT:
    'The store does not accept these types here. Where one may be NULL, write ifNull or ' +
    'assumeNotNull; an empty array needs items or a cast.',
  ILLEGAL_COLUMN: 'The store does not accept this argument here.',
  BAD_ARGUMENTS: 'The store does not accept this argument here.',
  PARAMETER_OUT_OF_BOUND: 'An argument in this expression is out of bounds.',
  ZERO_ARRAY_OR_TUPLE_INDEX: 'Positions are counted from 1.',
  DECIMAL_OVERFLOW: 'A number in this expression becomes too large.',
  CANNOT_CONVERT_TYPE: 'A value in this expression cannot be converted to its target type.',
  ARGUMENT_OUT_OF_BOUND: 'An argument in this expression is out of bounds.',
};

/** Returns true if ClickHouse refused the query, false if the connection failed. */
export function isEngineError(error: unknown): error is EngineError {
  return (
    error instanceof Error && 'code' in error && /^\d+$/.test(String(error.code)) && 'type' in error
  );
}

/**
 * Explains ClickHouse's error in our own words, at the function that it names if the query calls it
 * once.
 */
export function explainEngineError(query: ResolvedQuery, error: EngineError): QueryError {
  const called = /\bfunction `?'?([A-Za-z_]\w*)/i.exec(error.message)?.[1];
  const sentence = sentences[error.type] ?? `The store refuses this query (${error.type}).`;
  const span = called === undefined ? undefined : findOnce(query.text, called);
  const written = span === undefined ? '' : `\`${query.text.slice(span.start, span.end)}\`: `;
  return queryError(query.text, [{ message: `${written}${sentence}`, span: span ?? query.tree }]);
}

// The query's words for functions that the printer writes.
const written_as: Record<string, string> = {
  accurateCast: 'toInt64|toUInt64|toBool|CAST',
  parseDateTime64BestEffort: 'parseDateTimeBestEffort|toDateTime64|toDateTime|toDate|CAST',
};

function findOnce(text: string, name: string): Span | undefined {
  const names = Object.hasOwn(written_as, name) ? `(?:${written_as[name]})` : name;
  const cast = Object.hasOwn(written_as, name) ? '|::' : '';
  const [only, ...others] = Array.from(
    text.matchAll(new RegExp(`\\b${names}(?=\\s*\\()${cast}`, 'gi')),
    ({ 0: found, index }) => ({ start: index, end: index + found.length }),
  );
  return others.length === 0 ? only : undefined;
}
