import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import type { Listed } from '../../http/list.ts';
import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

const shown_max = 8;

/** The exports that fit, with how each is. */
export type Overview = Listed<ExportOverview>;

/** The exports of the project whose name has the text; none is asked for while it is empty. */
export function foundExports(project_id: string | undefined, typed: string) {
  const search = typed.trim();
  const of = { project_id: project_id ?? '' };
  const query = { search, limit: shown_max, slots: 1 };
  return queryOptions({
    ...reading(pathTo('/api/projects/:project_id/overview/', of, query), { polls: false }),
    enabled: project_id !== undefined && search !== '',
    ...(search === '' ? {} : { placeholderData: keepPreviousData }),
  });
}
