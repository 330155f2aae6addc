import { Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { memo, useContext, useMemo, useState } from 'react';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { useExport } from '../export_context.ts';
import { Form } from '../../form/form.tsx';
import { Shown } from '../../page/shown.tsx';
import { useReadAnew } from '../read_anew.ts';
import { counted, inBytes } from '../quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { exactly } from '../../time/words.ts';
import type { Span } from '../slots/boundaries.ts';
import { slotAt } from '../slots/boundaries.ts';
import { isoInstant } from '../slots/slots.ts';
import { planOf } from './backfills.ts';
import type { Repaired } from './backfills.ts';
import { bytesOf } from './estimate.ts';
import { RepairProgress } from './repair_progress.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');

/**
 * Repairs what is selected: first the plan with its rows, counted by the server now, then one
 * button, and then how far it is.
 */
export const Repair = memo(function Repair({
  selection,
  close,
}: {
  selection: Span | undefined;
  close: () => void;
}) {
  const { backfill } = route.useSearch();
  if (backfill !== undefined) return <RepairProgress id={backfill} close={close} />;
  if (selection === undefined) return undefined;
  return <Planned key={`${selection.from} ${selection.to}`} selection={selection} close={close} />;
});

const modes = [
  { value: 'missing', label: 'What is missing' },
  { value: 'all', label: 'Everything once more' },
] as const;

function Planned({ selection, close }: { selection: Span; close: () => void }) {
  const { row } = useExport();
  const zone = useContext(ZoneContext);
  const [mode, setMode] = useState<Repaired['mode']>('missing');
  const latest = slotAt({ interval: row.interval, timezone: zone }, useNow()).to;
  const end = Math.min(selection.to, latest);
  const repaired = useMemo<Repaired>(
    () => ({
      start_at: isoInstant(selection.from),
      end_at: isoInstant(end),
      mode,
      by: 'inserted_at',
    }),
    [selection.from, end, mode],
  );
  return (
    <section className="panel repair" aria-label="Repair">
      <div className="part_head">
        <h2>Repair</h2>
        <Button size="compact-sm" variant="default" onClick={close}>
          Close
        </Button>
      </div>
      <p>
        What was taken in from <strong>{exactly(repaired.start_at, zone)}</strong> to{' '}
        <strong>{exactly(isoInstant(selection.to), zone)}</strong>.
      </p>
      {selection.from >= latest ? (
        <p>This lies in the future: nothing of it is stored yet.</p>
      ) : (
        <>
          <NativeSelect
            size="sm"
            maw={260}
            label="Deliver"
            value={mode}
            onChange={({ target }) => setMode(target.value === 'all' ? 'all' : 'missing')}
            data={[...modes]}
          />
          <Plan repaired={repaired} />
        </>
      )}
    </section>
  );
}

function Plan({ repaired }: { repaired: Repaired }) {
  const { row, path } = useExport();
  const readAnew = useReadAnew(path);
  const navigate = route.useNavigate();
  const query = useQuery(planOf(path, repaired));
  const started = async ({ backfill }: { backfill: Backfill }) => {
    await navigate({
      search: (before) => ({ ...before, backfill: String(backfill.id) }),
      replace: true,
      resetScroll: false,
    });
    await readAnew();
  };
  return (
    <Shown query={query}>
      {(plan) => (
        <>
          <Numbers plan={plan} bytes={bytesOf(plan.progress.records_total_count, row)} />
          {plan.progress.records_total_count === 0 ? (
            <p>There is nothing to deliver.</p>
          ) : (
            <Form
              path={`${path}backfill/`}
              body={() => repaired}
              done={started}
              button={`Deliver ${counted(plan.progress.records_total_count, 'row')}`}
            />
          )}
          <p className="muted small">
            Rows are counted as they are now.{' '}
            <Button
              size="compact-xs"
              variant="default"
              loading={query.isFetching}
              onClick={() => void query.refetch()}
            >
              Count again
            </Button>{' '}
            Where a run failed,{' '}
            <Link
              to="/projects/$project_id/exports/$export_id/runs"
              params={{ project_id: String(row.team_id), export_id: row.id }}
              search={{
                status: 'failed',
                after: repaired.start_at,
                before: repaired.end_at,
              }}
            >
              retry its run
            </Link>{' '}
            once the cause is gone: that settles what is in doubt as well.
          </p>
        </>
      )}
    </Shown>
  );
}

const inNumbers = (count: number) => count.toLocaleString('en');

function Numbers({ plan, bytes }: { plan: Backfill; bytes: number | undefined }) {
  const { progress, mode } = plan;
  const delivered = plan.plan?.records_delivered_count ?? undefined;
  const doubled = mode === 'all' ? delivered : 0;
  const numbers: [string, string][] = [
    ['Rows to deliver', inNumbers(progress.records_total_count)],
    ['Will be doubled', doubled === undefined ? 'not known of a query' : inNumbers(doubled)],
    [
      'There, or on its way',
      delivered === undefined ? 'not known of a query' : inNumbers(delivered),
    ],
    [
      'Runs',
      `${inNumbers(plan.plan?.runs_with_records ?? 0)} with rows, of ${inNumbers(plan.runs)}`,
    ],
    ['Size', bytes === undefined ? 'not known before the first run' : `about ${inBytes(bytes)}`],
  ];
  return (
    <dl className="facts">
      {numbers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={name === 'Will be doubled' && doubled !== 0 ? 'warn' : ''}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
