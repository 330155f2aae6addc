import type { WriteKeyRow } from '../../server/api/write_keys/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** The write keys of a project, newest first. */
export function writeKeysOf(project_id: number) {
  return reading<Listed<WriteKeyRow>>(`${writeKeysPath(project_id)}?limit=1000`);
}

/** Where the write keys of a project lie in the API. */
export function writeKeysPath(project_id: number): string {
  return `/api/projects/${project_id}/write_keys/`;
}
