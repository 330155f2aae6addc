import { Type } from 'typebox';

/**
 * The first and the last instant that a query may name. A month within the years of the stores, so
 * that relative instants (a default range) can be written too.
 */
export const query_instants = { earliest: '0001-02-01T00:00:00Z', latest: '9999-12-01T00:00:00Z' };

/**
 * Returns the schema of an instant in a query string; outside `query_instants`, the answer is 400
 * `min_value` or `max_value` under its name. Every such parameter uses it.
 */
export function queryInstant(description: string) {
  return Type.String({
    format: 'date-time',
    not_before: query_instants.earliest,
    not_after: query_instants.latest,
    description: `${description} Between ${query_instants.earliest} and ${query_instants.latest}.`,
  });
}
