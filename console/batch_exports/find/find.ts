import type { Found } from '../../../server/api/batch_exports/find/schema.ts';
import { reading } from '../../http/reading.ts';

/** What the address asks for. */
export type FindSearch = { uuid?: string; distinct_id?: string; day?: string };

/** What became of a record in each export of the project; undefined where nothing is asked for. */
export function foundRecords(project_id: string, { uuid, distinct_id, day }: FindSearch) {
  const query = new URLSearchParams();
  if (uuid !== undefined) query.set('uuid', uuid.trim());
  else {
    if (distinct_id !== undefined) query.set('distinct_id', distinct_id);
    if (day !== undefined) query.set('day', day);
  }
  const path = `/api/projects/${encodeURIComponent(project_id)}/find/?${query.toString()}`;
  return reading<Found>(path, {
    is_busy: ({ records }) =>
      records.some(({ exports }) => exports.some(({ state }) => state === 'under_way')),
  });
}
