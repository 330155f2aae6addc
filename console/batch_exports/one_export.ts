import { reading } from '../http/reading.ts';
import { now } from '../time/now.ts';
import { exportIds, exportPath } from './export_context.ts';
import { isLively } from './state.ts';

/** One export, with its latest runs. */
export function oneExport(project_id: string, export_id: string) {
  return reading(exportPath(exportIds(project_id, export_id)), {
    is_busy: (row) => isLively(row, now()),
  });
}
