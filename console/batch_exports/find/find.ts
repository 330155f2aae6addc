import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

/** The search in the address. */
export type FindSearch = {
  uuid?: string;
  session_id?: string;
  group_id?: string;
  distinct_id?: string;
  day?: string;
};

/** Finds a record in each export of the project; undefined without a search. */
export function foundRecords(
  project_id: string,
  { uuid, session_id, group_id, ...by_day }: FindSearch,
) {
  const [query = by_day] = [
    ...(uuid === undefined ? [] : [{ uuid: uuid.trim() }]),
    ...(session_id === undefined ? [] : [{ session_id }]),
    ...(group_id === undefined ? [] : [{ group_id }]),
  ];
  return reading(pathTo('/api/projects/:project_id/find/', { project_id }, query), {
    is_busy: ({ records }) =>
      records.some(({ exports }) => exports.some(({ state }) => state === 'under_way')),
  });
}
