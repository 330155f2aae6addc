import { createContext, useContext } from 'react';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { pathTo } from '../http/path.ts';

/** The export of the current page. */
export const ExportContext = createContext<BatchExport | undefined>(undefined);

/** The ids of an export in the API's paths, where its id has two names. */
export type ExportIds = { project_id: string; id: string; batch_export_id: string };

/** Returns the export of the current page, and its ids in the API. */
export function useExport(): { row: BatchExport; ids: ExportIds } {
  const row = useContext(ExportContext);
  if (row === undefined) throw new Error('Only a page of an export may show this.');
  return { row, ids: exportIds(String(row.team_id), row.id) };
}

/** Returns the ids of an export in the API. */
export function exportIds(project_id: string, export_id: string): ExportIds {
  return { project_id, id: export_id, batch_export_id: export_id };
}

/** Returns the path of an export in the API. */
export function exportPath(ids: ExportIds) {
  return pathTo('/api/projects/:project_id/batch_exports/:id/', ids);
}
