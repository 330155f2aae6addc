import type { FileDownload } from '../../server/api/file_downloads/schema.ts';
import { pageQuery } from '../http/page_number.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';
import { nothing } from './asked_for.ts';

/** The formats of files. */
export const format_choices = [
  { value: 'CSV', label: 'CSV' },
  { value: 'JSONLines', label: 'JSON lines' },
  { value: 'Parquet', label: 'Parquet' },
  { value: 'Avro', label: 'Avro' },
];

/** The compressions of files. */
export const compression_choices = [
  { value: nothing, label: 'None' },
  { value: 'gzip', label: 'gzip' },
  { value: 'zstd', label: 'zstd' },
];

/** One page of the downloads of a project, newest first. */
export function downloadsOf(project_id: string, page: number) {
  return reading(downloadsPath(project_id, pageQuery(page)), {
    is_busy: ({ results }) => results.some(({ status }) => status === 'Starting'),
  });
}

/** Exports whose rows can be downloaded, newest first. */
export function exportsOf(project_id: string) {
  const query = { limit: 100, slots: 0 };
  return reading(pathTo('/api/projects/:project_id/overview/', { project_id }, query));
}

/** Returns the path of the downloads. */
export function downloadsPath(project_id: string, query?: { limit: number; offset: number }) {
  return pathTo('/api/projects/:project_id/file_downloads/', { project_id }, query);
}

/** Returns the path of a part's file, for a download link. */
export function partPath({ project, id }: FileDownload, part: number) {
  const path = '/api/projects/:project_id/file_downloads/:id/download/:part/';
  return pathTo(path, { project_id: String(project), id, part: String(part) });
}
