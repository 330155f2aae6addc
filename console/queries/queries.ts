import type { QueryLanguage, QueryValidation } from '../../server/api/query/schema.ts';
import { ask } from '../http/ask.ts';
import { reading } from '../http/reading.ts';

/** What queries of a project are made of. */
export function queryLanguage(project_id: string) {
  return reading<QueryLanguage>(`/api/projects/${encodeURIComponent(project_id)}/query/language/`, {
    polls: false,
  });
}

/** What there is to say about a query; undefined where the server did not answer. */
export async function validateQuery(
  project_id: string,
  query: string,
  model: string,
): Promise<QueryValidation | undefined> {
  const path = `/api/projects/${encodeURIComponent(project_id)}/query/validate/`;
  const outcome = await ask<QueryValidation>('POST', path, { body: { query, model } });
  return outcome.ok ? outcome.body : undefined;
}
