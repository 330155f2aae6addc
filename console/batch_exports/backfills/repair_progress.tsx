import { Button, Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useContext } from 'react';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { exportPath, useExport } from '../export_context.ts';
import { useWhenChanged } from '../following.ts';
import { Form } from '../../form/form.tsx';
import { Shown } from '../../page/shown.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { useReadAnew } from '../read_anew.ts';
import { counted } from '../../page/text/quantities.ts';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { exactRange } from '../../time/words.ts';
import { backfillPath, hasFailed, oneBackfill, planOf } from './backfills.ts';
import { pathTo } from '../../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');

const tones: Partial<Record<string, string>> = {
  Completed: 'good',
  Failed: 'bad',
  Cancelled: 'warn',
};

/** Shows a started repair: its progress, and a button that cancels it. */
export function RepairProgress({ id, close }: { id: string; close: () => void }) {
  const { ids } = useExport();
  const query = useQuery(oneBackfill(ids, id));
  const readAnew = useReadAnew(exportPath(ids));
  const ended_at = query.data?.finished_at ?? undefined;
  // The map shows the result.
  useWhenChanged(ended_at, readAnew);
  return (
    <section className="panel repair" aria-label="Backfill">
      <div className="part_head">
        <h2>Backfill</h2>
        <Button size="compact-sm" onClick={close}>
          Close
        </Button>
      </div>
      <Shown query={query}>{(backfill) => <Standing backfill={backfill} />}</Shown>
    </section>
  );
}

function Standing({ backfill }: { backfill: Backfill }) {
  const zone = useContext(ZoneContext);
  const { status, detail, by, start_at, end_at, progress, finished_at } = backfill;
  const what = by === 'timestamp' ? 'Events that happened' : 'Rows ingested';
  const share = progress.total_runs === 0 ? 0 : progress.finished_runs / progress.total_runs;
  return (
    <>
      <p>
        {what} from {exactRange(start_at, end_at, zone)}:{' '}
        <strong className={tones[status] ?? ''}>
          {status === 'Starting' ? 'Waiting' : status}
        </strong>
        {finished_at !== null && (
          <>
            {' '}
            <Instant at={finished_at} />
          </>
        )}
      </p>
      <Progress
        value={finished_at === null ? share * 100 : 100}
        aria-label="Progress of the backfill"
        mb="xs"
      />
      <p role="status">
        {counted(progress.finished_runs, 'run')} of {progress.total_runs.toLocaleString('en')}{' '}
        ended, {counted(progress.records_completed, 'row')} delivered
        {progress.records_elsewhere > 0 &&
          `, ${counted(progress.records_elsewhere, 'row')} left out because they are there already`}
        .
      </p>
      {detail !== null && status !== 'Completed' && (
        <p className="muted">
          <Sentence text={detail} />
        </p>
      )}
      {backfill.mode === 'missing' && (status === 'Cancelled' || hasFailed(backfill)) && (
        <Rest backfill={backfill} />
      )}
      {finished_at === null && <Abort backfill={backfill} />}
    </>
  );
}

function Abort({ backfill: { id, status, settles_at } }: { backfill: Backfill }) {
  const { ids } = useExport();
  const readAnew = useReadAnew(exportPath(ids));
  const cancel = '/api/projects/:project_id/batch_exports/:batch_export_id/backfills/:id/cancel/';
  return (
    <>
      {status === 'Starting' && settles_at !== null && (
        <p className="muted">
          Starts <Instant at={settles_at} />.
        </p>
      )}
      <Form
        path={pathTo(cancel, { ...ids, id: String(id) })}
        done={readAnew}
        button="Abort"
        about="the backfill"
        tone="danger"
        asks={() => ({
          title: 'Abort this backfill?',
          text:
            'Sluice cancels its runs in progress and plans no more. Delivered rows stay. You can ' +
            'deliver the rest later.',
          button: 'Abort the backfill',
          keep: 'Let it continue',
        })}
      />
    </>
  );
}

/**
 * Offers to deliver the rest of a backfill that ended early, as a new backfill of the same range.
 */
function Rest({ backfill: { by, start_at, end_at, progress } }: { backfill: Backfill }) {
  const { ids } = useExport();
  const navigate = route.useNavigate();
  const readAnew = useReadAnew(exportPath(ids));
  const range = { by, start_at, end_at, mode: 'missing' } as const;
  const { data, error, refetch } = useQuery(planOf(ids, range));
  // Cancelled runs release their rows when their workers end them.
  useWhenChanged(progress.finished_runs, refetch);
  const rows = data?.progress.records_total_count;
  if (rows === undefined && error === null) return undefined;
  if (rows === 0) return <p>No rows of this range are missing.</p>;
  return (
    <Form
      path={backfillPath(ids)}
      body={() => range}
      done={async ({ backfill }) => {
        await navigate({
          search: (before) => ({ ...before, backfill: String(backfill.id) }),
          replace: true,
          resetScroll: false,
        });
        await readAnew();
      }}
      button={
        rows === undefined ? 'Deliver the rest' : `Deliver the remaining ${counted(rows, 'row')}`
      }
    />
  );
}
