import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The write keys of a project, newest first. */
export function writeKeysOf(project_id: number) {
  return reading(pathTo('/api/projects/:project_id/write_keys/', { project_id }, { limit: 1000 }));
}

/** Returns the path of a write key. */
export function writeKeyPath(project_id: number, id: string) {
  return pathTo('/api/projects/:project_id/write_keys/:id/', { project_id, id });
}
