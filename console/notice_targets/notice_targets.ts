import type { NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** All targets of a project, at most 50. */
export function noticeTargets(project_id: string) {
  return reading(pathTo('/api/projects/:project_id/notice_targets/', { project_id }, pageQuery(1)));
}

/** One target. */
export function noticeTargetOf(project_id: string, id: string) {
  return reading(targetPath(project_id, id));
}

/** Returns the path of a target. */
export function targetPath(project_id: string, id: string) {
  return pathTo('/api/projects/:project_id/notice_targets/:id/', { project_id, id });
}

/** The deliveries of a target, newest first. */
export function deliveriesOf(project_id: string, target: string, page: number) {
  return reading(
    pathTo(
      '/api/projects/:project_id/notice_deliveries/',
      { project_id },
      { target, limit: deliveries_size, offset: (page - 1) * deliveries_size },
    ),
    { is_busy: ({ results }) => results.some(({ outcome }) => outcome === 'pending') },
  );
}

/** Number of deliveries on a page. */
export const deliveries_size = 10;

/** Returns the name by which people know a target: its name, or its address. */
export function nameOf({ name, address, url }: NoticeTargetRow): string {
  return name ?? address ?? url ?? '';
}

/** The kinds of targets in words. */
export const type_names: Record<NoticeTargetRow['type'], string> = {
  slack: 'Slack',
  microsoft_teams: 'Microsoft Teams',
  pagerduty: 'PagerDuty',
  email: 'Mail',
  webhook: 'Webhook',
};

const event_names: Record<NoticeTargetRow['events'][number], string> = {
  failing: 'Runs start to fail',
  late: 'An export is late',
  unusual_volume: 'A run has unusually many or few rows',
  rejecting: 'The destination refuses rows, which are set aside',
  table_gone: 'The table of an export disappeared, with its rows',
  schema_drift: 'Columns change, or values do not fit them',
  table_unreadable: 'Maintenance cannot read files of a table',
  differing: 'Somebody else changed what was delivered',
  disconnected: 'A tool must be connected again',
  recovered: 'One of these problems has ended',
  paused_automatically: 'The server paused an export',
};

/** The events of a target. */
export const event_choices = Object.entries(event_names).map(([value, label]) => ({
  value,
  label,
}));
