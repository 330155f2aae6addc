import type {
  NoticeDelivery,
  NoticeDeliveryRecord,
} from '../../../server/api/notice_deliveries/schema.ts';
import type { Listed } from '../../http/list.ts';
import { reading } from '../../http/reading.ts';
import type { State } from '../state.ts';

/** So many deliveries stand on a page. */
export const page_size = 25;

const base = (project_id: number) => `/api/projects/${project_id}/notice_deliveries/`;

/** The path of a delivery. */
export function deliveryPath(project_id: number, id: number): string {
  return `${base(project_id)}${id}/`;
}

/** The notices of an export on their way to each recipient, newest first; pages count from 1. */
export function noticeDeliveries(project_id: number, batch_export: string, page: number) {
  const query = new URLSearchParams({
    batch_export,
    limit: String(page_size),
    offset: String((page - 1) * page_size),
  });
  return reading<Listed<NoticeDelivery>>(`${base(project_id)}?${query.toString()}`, {
    is_busy: ({ results }) => results.some(({ outcome }) => outcome === 'pending'),
  });
}

/** One delivery with what was sent and every attempt. */
export function oneDelivery(project_id: number, id: number) {
  return reading<NoticeDeliveryRecord>(deliveryPath(project_id, id), {
    is_busy: ({ outcome }) => outcome === 'pending',
  });
}

/** How a delivery stands. */
export const delivery_states: Record<NoticeDelivery['outcome'], State> = {
  pending: { word: 'Under way', tone: 'muted' },
  delivered: { word: 'Delivered', tone: 'good' },
  given_up: { word: 'Given up', tone: 'bad' },
};
