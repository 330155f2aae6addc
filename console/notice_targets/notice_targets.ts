import type { NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';

/** All targets of a project: it has 50 at most. */
export function noticeTargets(project_id: string) {
  return reading<Listed<NoticeTargetRow>>(`${targetPath(project_id)}${pageQuery(1)}`);
}

/** One target. */
export function noticeTargetOf(project_id: string, id: string) {
  return reading<NoticeTargetRow>(targetPath(project_id, id));
}

/** The targets in the API, or with an id one of them. */
export function targetPath(project_id: string, id?: string): string {
  const path = `/api/projects/${encodeURIComponent(project_id)}/notice_targets/`;
  return id === undefined ? path : `${path}${encodeURIComponent(id)}/`;
}

/** Where a target is told, in a text. */
export function whereOf({ address, url }: NoticeTargetRow): string {
  return address ?? url ?? '';
}

const event_names: Record<NoticeTargetRow['events'][number], string> = {
  failing: 'Runs begin to fail',
  late: 'Something due is late',
  unusual_volume: 'A run has unusually many or few rows',
  rejecting: 'The destination refuses rows, which are set aside',
  recovered: 'One of these has ended',
  paused_automatically: 'The server paused an export',
};

/** What a target can be told of. */
export const event_choices = Object.entries(event_names).map(([value, label]) => ({
  value,
  label,
}));
