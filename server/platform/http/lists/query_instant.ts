import { Type } from 'typebox';

/**
 * The first and the last instant that a query may name. A month within the years that the stores
 * know, so that what is counted back or on from there (a default range) can be spelled too.
 */
export const query_instants = { earliest: '0001-02-01T00:00:00Z', latest: '9999-12-01T00:00:00Z' };

/**
 * The schema of an instant in a query string; one outside of `query_instants` is 400 `min_value` or
 * `max_value` under its name. Every such parameter is created with this.
 */
export function queryInstant(description: string) {
  return Type.String({
    format: 'date-time',
    not_before: query_instants.earliest,
    not_after: query_instants.latest,
    description: `${description} Between ${query_instants.earliest} and ${query_instants.latest}.`,
  });
}
