import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';

/** Number of deliveries on a page. */
export const page_size = 25;

/** Returns the API's path of a project's deliveries for the query. */
export function deliveriesPath(
  project_id: number,
  query: { batch_export: string; limit?: number; offset?: number },
) {
  return pathTo('/api/projects/:project_id/notice_deliveries/', { project_id }, query);
}

/** The notices of an export for each recipient, newest first; pages count from 1. */
export function noticeDeliveries(project_id: number, batch_export: string, page: number) {
  const query = { batch_export, limit: page_size, offset: (page - 1) * page_size };
  return reading(deliveriesPath(project_id, query), {
    is_busy: ({ results }) => results.some(({ outcome }) => outcome === 'pending'),
  });
}

/** One delivery with its content and every attempt. */
export function oneDelivery(project_id: number, id: number) {
  return reading(pathTo('/api/projects/:project_id/notice_deliveries/:id/', { project_id, id }), {
    is_busy: ({ outcome }) => outcome === 'pending',
  });
}
