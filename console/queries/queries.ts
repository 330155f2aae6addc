import type { QueryValidation } from '../../server/api/query/schema.ts';
import { ask } from '../http/ask.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';

/** Reads the query language of a project. */
export function queryLanguage(project_id: string) {
  return reading(pathTo('/api/projects/:project_id/query/language/', { project_id }), {
    polls: false,
  });
}

/** Validates a query; undefined if the server did not answer. */
export async function validateQuery(
  project_id: string,
  query: string,
  model: BatchExport['model'],
): Promise<QueryValidation | undefined> {
  const path = pathTo('/api/projects/:project_id/query/validate/', { project_id });
  const outcome = await ask('POST', path, { body: { query, model } });
  return outcome.ok ? outcome.body : undefined;
}
