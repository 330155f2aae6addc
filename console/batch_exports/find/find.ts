import type { Found, FoundExport } from '../../../server/api/batch_exports/find/schema.ts';
import { reading } from '../../http/reading.ts';
import type { State } from '../state.ts';

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

/** How a record stands in an export, by its state. */
export const found_states: Record<FoundExport['state'], State> = {
  delivered: { word: 'Delivered', tone: 'good' },
  under_way: { word: 'Under way', tone: 'muted' },
  in_doubt: { word: 'In doubt', tone: 'warn' },
  failed: { word: 'Failed', tone: 'bad' },
  missing: { word: 'Missing', tone: 'bad' },
  waiting: { word: 'Waiting', tone: 'muted' },
  outside: { word: 'Outside of the schedule', tone: 'muted' },
  excluded: { word: 'Excluded', tone: 'muted' },
  not_in_query: { word: 'Not in the query', tone: 'muted' },
  not_in_model: { word: 'Another model', tone: 'muted' },
  superseded: { word: 'Superseded', tone: 'muted' },
  not_told: { word: 'Cannot be told', tone: 'warn' },
};
