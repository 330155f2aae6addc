import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import { explainEngineError, isEngineError } from '../../query/gate/engine_error.ts';
import type { EngineError } from '../../query/gate/engine_error.ts';
import type { ResolvedQuery } from '../../query/query.ts';
import type { QueryLimits } from '../../query/settings.ts';

/**
 * Errors of the store that the query or its values cause: each attempt would meet them again. Other
 * errors may pass and are retried.
 */
const own_faults = new Set([
  'ARGUMENT_OUT_OF_BOUND',
  'BAD_ARGUMENTS',
  'CANNOT_COMPILE_REGEXP',
  'CANNOT_CONVERT_TYPE',
  'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
  'CANNOT_PARSE_BOOL',
  'CANNOT_PARSE_DATE',
  'CANNOT_PARSE_DATETIME',
  'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER',
  'CANNOT_PARSE_TEXT',
  'CANNOT_PARSE_UUID',
  'DECIMAL_OVERFLOW',
  'ILLEGAL_COLUMN',
  'ILLEGAL_DIVISION',
  'ILLEGAL_TYPE_OF_ARGUMENT',
  'INCORRECT_DATA',
  'INCORRECT_RESULT_OF_SCALAR_SUBQUERY',
  'INVALID_JOIN_ON_EXPRESSION',
  'NO_COMMON_TYPE',
  'NOT_IMPLEMENTED',
  'SIZES_OF_ARRAYS_DONT_MATCH',
  'SYNTAX_ERROR',
  'TOO_BIG_AST',
  'TOO_DEEP_AST',
  'TOO_LARGE_ARRAY_SIZE',
  'TOO_LARGE_STRING_SIZE',
  'TYPE_MISMATCH',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
]);

/**
 * Translates the error of a failed query: `query_too_expensive` at a limit, `query_failed` for a
 * fault of the query or a value. Both are final and phrased for the query's author. Every other
 * error stays unchanged, such as a lack of memory of the store itself.
 */
export function queryFailure(query: ResolvedQuery, limits: QueryLimits, error: unknown): unknown {
  if (!isEngineError(error)) return error;
  const expensive = limitReached(limits, error);
  if (expensive !== undefined) return tooExpensive(expensive, error);
  if (!own_faults.has(error.type)) return error;
  return new NonRetryableError('query_failed', explainEngineError(query, error).message, {
    cause: error,
  });
}

/** Returns the error of a query whose reader waited too long for rows. */
export function queryTookTooLong(limits: QueryLimits, error: unknown): NonRetryableError {
  return tooExpensive(takesTooLong(limits), error);
}

/**
 * Returns the error of an interrupted answer, although the store returns the same rows when asked
 * again.
 */
export function queryInterrupted(cause: unknown): RetryableError {
  return new RetryableError(
    'query_interrupted',
    'The analytics store ended its answer to the query without a reason. If this happens ' +
      'again, the query probably needs about as much memory as its limit: narrow it, or have ' +
      'the operator raise SLUICE_QUERY_MEMORY_MB_MAX.',
    { cause },
  );
}

function tooExpensive(sentence: string, cause: unknown): NonRetryableError {
  return new NonRetryableError('query_too_expensive', sentence, { cause });
}

function takesTooLong({ execution_seconds }: QueryLimits): string {
  return (
    `The query exceeds its limit of ${execution_seconds} seconds: narrow it, or have the ` +
    'operator raise SLUICE_QUERY_SECONDS_MAX.'
  );
}

function limitReached(limits: QueryLimits, error: EngineError): string | undefined {
  switch (error.type) {
    case 'TIMEOUT_EXCEEDED':
    case 'TOO_SLOW':
      return takesTooLong(limits);
    case 'TOO_MANY_ROWS':
    case 'TOO_MANY_ROWS_OR_BYTES':
      return (
        `The query reads or returns more rows than its limit of ${limits.rows_to_read}: ` +
        'narrow it, or have the operator raise SLUICE_QUERY_ROWS_MAX.'
      );
    case 'MEMORY_LIMIT_EXCEEDED':
      // The same error name also covers a temporary lack of memory of the whole store.
      return /\bquery memory limit\b|\(for query\)/i.test(error.message)
        ? `The query exceeds its limit of ${Math.floor(limits.memory_bytes / 1024 / 1024)} ` +
            'MiB of memory: narrow it, group by less, or have the operator raise ' +
            'SLUICE_QUERY_MEMORY_MB_MAX.'
        : undefined;
    default:
      return undefined;
  }
}
