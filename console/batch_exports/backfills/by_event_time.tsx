import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { useExport } from '../export_context.ts';
import { counted } from '../../page/quantities.ts';
import { hasFailed, latestBackfills } from './backfills.ts';

/**
 * Says what backfills by event time have delivered, and that one failed: their runs are no slots of
 * the map, which is of the time at which events were taken in, so it can be empty although rows are
 * delivered, and without a fault although they are not.
 */
export const ByEventTime = memo(function ByEventTime() {
  const { row, ids } = useExport();
  const { data } = useQuery(latestBackfills(ids));
  const them = (data?.results ?? []).filter(({ by }) => by === 'timestamp');
  const rows = them.reduce((sum, { progress }) => sum + progress.records_completed, 0);
  const open = them.filter(({ finished_at }) => finished_at === null).length;
  const failed = them.filter(hasFailed).length;
  if (rows === 0 && open === 0 && failed === 0) return undefined;
  const params = { project_id: String(row.team_id), export_id: row.id };
  return (
    <p className="note" role="note">
      {counted(them.length, 'backfill')} by event time {them.length === 1 ? 'has' : 'have'}{' '}
      delivered {counted(rows, 'row')}
      {open > 0 && `, ${open} still in progress`}
      {failed > 0 && (
        <>
          , <strong className="bad">{them.length === 1 ? 'and failed' : `${failed} failed`}</strong>
        </>
      )}
      . They are not on this map, which is of the time at which events were taken in:{' '}
      <Link
        to="/projects/$project_id/exports/$export_id/runs"
        params={params}
        search={failed > 0 ? { status: 'failed' } : {}}
      >
        {failed > 0 ? 'the runs that failed' : 'the runs'}
      </Link>{' '}
      {failed > 0 ? 'say why.' : 'have them.'}
    </p>
  );
});
