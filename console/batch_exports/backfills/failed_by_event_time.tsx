import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { useExport } from '../export_context.ts';
import { counted } from '../../page/text/quantities.ts';
import { hasFailed, latestBackfills } from './backfills.ts';

/** Says that a backfill by event time failed, whose slots may be outside of the view. */
export const FailedByEventTime = memo(function FailedByEventTime() {
  const { row, ids } = useExport();
  const { data } = useQuery(latestBackfills(ids));
  const failed = (data?.results ?? []).filter((one) => one.by === 'timestamp' && hasFailed(one));
  if (failed.length === 0) return undefined;
  const told = counted(failed.length, 'backfill');
  return (
    <p className="note" role="note">
      <strong className="bad">{told} by event time failed.</strong>{' '}
      <Link
        to="/projects/$project_id/exports/$export_id/runs"
        params={{ project_id: String(row.team_id), export_id: row.id }}
        search={{ status: 'failed' }}
      >
        The failed runs
      </Link>{' '}
      say why.
    </p>
  );
});
