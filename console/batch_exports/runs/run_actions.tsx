import { useContext } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { ActButton } from '../act_button.tsx';
import { exportPath, useExport } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { exactly } from '../../time/words.ts';
import { isCancellable, isRetryable } from './run_filters.ts';
import { pathTo } from '../../http/path.ts';

const one = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/:id/';

/** The buttons of a run: retry it, deliver its refused rows again, or cancel it. */
export function RunActions({
  run,
  size = 'compact-xs',
}: {
  run: BatchExportRun;
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
      {isRetryable(run) && (
        <ActButton
          path={pathTo(`${one}retry/`, { ...ids, id: run.id })}
          label="Retry"
          size={size}
          about={about}
          done={(created) => said(`Tried again as run ${created.id.slice(-8)}.`)}
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
