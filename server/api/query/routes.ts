import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { functionTopics } from '../../engine/query/functions/index.ts';
import { checkQuery, queryLimits } from '../../engine/query/custom_query.ts';
import type { CheckedQuery } from '../../engine/query/custom_query.ts';
import { queryTables } from '../../engine/query/resolve/source.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { whileWaiting } from '../../platform/http/while_waiting.ts';
import { addRoute } from '../../platform/http/records.ts';
import { QueryLanguage, QueryToValidate, QueryValidation } from './schema.ts';

/** Route `query/validate/` of a project: columns and errors for a query editor. */
export function queryRoutes(
  app: FastifyInstance,
  { clickhouse, config, query_budget }: Deps,
): void {
  const store = { clickhouse, query_limits: queryLimits(config, query_budget) };
  const schema = {
    summary: 'Check a query: its columns, or its errors',
    description:
      'Nothing is stored and no row is read. A query with errors is answered with 200; only a ' +
      'malformed body is answered with 400.',
    body: QueryToValidate,
    response: { 200: QueryValidation },
  };
  addRoute(app, {
    method: 'POST',
    url: '/api/projects/:project_id/query/validate/',
    config: { scope: 'batch_export:read', within: 'project' },
    ...schema,
    handler: async (request) => {
      const { query, model = 'events' } = body(request, QueryToValidate);
      return validationOf(
        model,
        await whileWaiting((signal) => checkQuery(store, query, model, signal)),
      );
    },
  });
  addRoute(app, {
    url: '/api/projects/:project_id/query/language/',
    config: { scope: 'batch_export:read', within: 'project' },
    summary: 'List the tables, columns and functions of the query language',
    description: 'For autocompletion in an editor; docs/query_language.md explains them.',
    response: { 200: QueryLanguage },
    handler: () => language,
  });
}

const language: QueryLanguage = {
  tables: queryTables(),
  functions: functionTopics.flatMap(({ functions }) =>
    functions.map(({ name, signature, meaning }) => ({ name, signature, meaning })),
  ),
};

function validationOf(model: QueryValidation['model'], checked: CheckedQuery): QueryValidation {
  if ('faults' in checked) {
    const errors = checked.faults.map(({ message, suggestion = null, ...place }) => ({
      ...place,
      detail: message,
      suggestion,
    }));
    return { is_valid: false, model, is_row_wise: false, columns: [], errors };
  }
  const { columns, is_row_wise } = checked.query;
  return {
    is_valid: true,
    model,
    is_row_wise,
    columns: columns.map(({ name, type, nullable }) => ({ name, type, nullable })),
    errors: [],
  };
}
