import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { reading } from '../http/reading.ts';
import { now } from '../time/now.ts';
import { exportPath } from './export_context.ts';
import { isLively } from './state.ts';

/** One export, with its latest runs. */
export function oneExport(project_id: string, export_id: string) {
  return reading<BatchExport>(exportPath(project_id, export_id), {
    is_busy: (row) => isLively(row, now()),
  });
}
