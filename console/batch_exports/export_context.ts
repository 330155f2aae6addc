import { createContext, useContext } from 'react';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';

/** The export whose pages are looked at. */
export const ExportContext = createContext<BatchExport | undefined>(undefined);

/** The export around a page of it, and its path in the API, with a slash at its end. */
export function useExport(): { row: BatchExport; path: string } {
  const row = useContext(ExportContext);
  if (row === undefined) throw new Error('This stands on a page of an export only.');
  return { row, path: exportPath(String(row.team_id), row.id) };
}

/** The path of an export in the API, with a slash at its end. */
export function exportPath(project_id: string, export_id: string): string {
  const [project, id] = [encodeURIComponent(project_id), encodeURIComponent(export_id)];
  return `/api/projects/${project}/batch_exports/${id}/`;
}
