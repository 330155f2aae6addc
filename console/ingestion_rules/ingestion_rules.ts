import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Returns the path of the ingestion rules. */
export function rulesPath(project_id: string, query?: { limit: number }) {
  return pathTo('/api/projects/:project_id/ingestion_rules/', { project_id }, query);
}

/** Returns the path of an ingestion rule. */
export function rulePath(project_id: string, id: string) {
  return pathTo('/api/projects/:project_id/ingestion_rules/:id/', { project_id, id });
}

/** All rules of a project in order: at most a thousand. */
export function ingestionRules(project_id: string) {
  return reading(rulesPath(project_id, { limit: 1000 }));
}

/** One rule. */
export function ingestionRule(project_id: string, id: string) {
  return reading(rulePath(project_id, id));
}

/** Events of the last 24 hours that rules changed or dropped. */
export function ruleCounts(project_id: string) {
  return reading(pathTo('/api/projects/:project_id/ingestion_rules/counts/', { project_id }));
}
