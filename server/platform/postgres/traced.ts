import type pg from 'pg';
import { currentSpan, inSpan } from '../tracing/span.ts';

/** Number of characters of a statement in its span. */
const query_text_max = 2_000;

/** Runs a statement as a part of the trace; only a prepared statement's text contains no values. */
export function traced<Result>(
  { name, text }: Pick<pg.QueryConfig, 'name' | 'text'>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (currentSpan() === undefined) return work();
  const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? '';
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    ...(name === undefined ? {} : { 'db.query.text': text.slice(0, query_text_max) }),
  };
  return inSpan(`PostgreSQL ${operation}`, attributes, work, 3);
}
