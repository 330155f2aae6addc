import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { useExport } from '../export_context.ts';
import { counted } from '../quantities.ts';
import { latestBackfills } from './backfills.ts';

/**
 * Says what backfills by event time have delivered: their runs are no slots of the map, which is of
 * the time at which events were taken in, so it can be empty although rows are delivered.
 */
export const ByEventTime = memo(function ByEventTime() {
  const { row, path } = useExport();
  const { data } = useQuery(latestBackfills(path));
  const them = (data?.results ?? []).filter(({ by }) => by === 'timestamp');
  const rows = them.reduce((sum, { progress }) => sum + progress.records_completed, 0);
  const open = them.filter(({ finished_at }) => finished_at === null).length;
  if (rows === 0 && open === 0) return undefined;
  return (
    <p className="note" role="note">
      {counted(them.length, 'backfill')} by event time {them.length === 1 ? 'has' : 'have'}{' '}
      delivered {counted(rows, 'row')}
      {open > 0 && `, ${open} still under way`}. They are not on this map, which is of the time at
      which events were taken in:{' '}
      <Link
        to="/projects/$project_id/exports/$export_id/runs"
        params={{ project_id: String(row.team_id), export_id: row.id }}
      >
        the runs
      </Link>{' '}
      have them.
    </p>
  );
});
