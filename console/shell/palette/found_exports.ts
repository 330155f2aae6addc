import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import type { Listed } from '../../http/list.ts';
import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

const shown_max = 8;

/** The matching exports, with their states. */
export type Overview = Listed<ExportOverview>;

/** The exports of the project whose name contains the text; no request for an empty text. */
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
