import { useContext } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { ActButton } from '../act_button.tsx';
import { exportPath, useExport } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { exactly } from '../../time/words.ts';
import type { ListedRun } from './listed_run.ts';
import { isCancellable } from './run_filters.ts';
import { TryNow } from './next_try.tsx';
import { pathTo } from '../../http/path.ts';

const one = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/:id/';

/** The buttons of a run, each only if the server would accept the action. */
export function RunActions({
  run,
  retry,
  size = 'compact-xs',
}: {
  run: BatchExportRun;
  /** The server's answer to a retry; null if none is possible. */
  retry: ListedRun['retry'];
  size?: 'compact-xs' | 'compact-sm';
}) {
  const { ids } = useExport();
  const readAnew = useReadAnew(exportPath(ids));
  const zone = useContext(ZoneContext);
  const about = `the run of ${exactly(run.data_interval_start, zone)}`;
  const said = async (text: string) => {
    await readAnew();
    return text;
  };
  return (
    <>
      {run.next_try_at !== null && run.cancel_requested_at === null && (
        <TryNow run_id={run.id} size={size} />
      )}
      {retry === 'possible' && (
        <ActButton
          path={pathTo(`${one}retry/`, { ...ids, id: run.id })}
          label="Retry"
          size={size}
          about={about}
          done={(created) => said(`Retried as run ${created.id.slice(-8)}.`)}
        />
      )}
      {run.records_rejected > 0 && run.status === 'Completed' && (
        <ActButton
          path={pathTo(`${one}redeliver_rejected/`, { ...ids, id: run.id })}
          label="Deliver refused rows again"
          size={size}
          about={about}
          done={(created) => said(`Delivered again as run ${created.id.slice(-8)}.`)}
        />
      )}
      {isCancellable(run) && (
        <ActButton
          path={pathTo(`${one}cancel/`, { ...ids, id: run.id })}
          label="Cancel"
          size={size}
          about={about}
          done={() => said('Cancelling the run.')}
        />
      )}
      {run.finished_at === null && run.cancel_requested_at !== null && (
        <span className="muted">being cancelled</span>
      )}
    </>
  );
}
