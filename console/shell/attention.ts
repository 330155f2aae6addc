import type { HealthCode } from '../../server/api/batch_exports/overview/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** States that need action; a retry and a pause by a person do not. */
const attention_codes: readonly HealthCode[] = [
  'failing',
  'paused_automatically',
  'late',
  'partly_delivered',
];

/** Counts the exports that need attention. */
export function attentionOf(counts: Record<HealthCode, number>): number {
  return attention_codes.reduce((sum, code) => sum + counts[code], 0);
}

/** Reads the number of a project's exports in each state. */
export function stateCounts(project_id: string) {
  const query = { limit: 1, slots: 0 };
  return reading(pathTo('/api/projects/:project_id/overview/', { project_id }, query));
}
