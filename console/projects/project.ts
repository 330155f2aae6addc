import type { ProjectRow } from '../../server/api/projects/schema.ts';
import { reading } from '../http/reading.ts';

/** The project of the address. */
export function projectOf(project_id: string) {
  return reading<ProjectRow>(`/api/projects/${encodeURIComponent(project_id)}/`);
}
