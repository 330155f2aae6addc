import type { SchemaColumn } from '../../server/api/schema_columns/schema.ts';
import type { State } from '../batch_exports/state.ts';
import { pageQuery } from '../http/page_number.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

const base = '/api/projects/:project_id/schema_columns/';

/** A page of the columns of a project's schema. */
export function schemaColumns(project_id: string, page: number) {
  return reading(pathTo(base, { project_id }, pageQuery(page)));
}

/** The first properties that the catalogue proposes as columns. */
export function schemaProposals(project_id: string) {
  const query = pageQuery(1);
  return reading(
    pathTo('/api/projects/:project_id/schema_columns/proposals/', { project_id }, query),
  );
}

/** Returns the path that freezes properties. */
export function freezePath(project_id: string) {
  return pathTo('/api/projects/:project_id/schema_columns/freeze/', { project_id });
}

/** Returns the path that gives one property a column. */
export function createPath(project_id: string) {
  return pathTo(base, { project_id });
}

/** Returns the path of a column. */
export function columnPath(project_id: string, id: string) {
  return pathTo('/api/projects/:project_id/schema_columns/:id/', { project_id, id });
}

/** The words for a property: `plan`, or `plan of groups`. */
export function propertyWords({
  source,
  property,
}: Pick<SchemaColumn, 'source' | 'property'>): string {
  return source === 'event' ? property : `${property} of ${source}s`;
}

/** The state of a column. */
export function stateOf(column: Pick<SchemaColumn, 'is_filled'>): State {
  return column.is_filled
    ? { word: 'Frozen', tone: 'good', shape: 'check' }
    : { word: 'Removed', tone: 'muted', shape: 'stop' };
}
