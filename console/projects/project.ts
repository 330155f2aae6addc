import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** The project in the address. */
export function projectOf(project_id: string) {
  return reading(pathTo('/api/projects/:id/', { id: project_id }));
}
