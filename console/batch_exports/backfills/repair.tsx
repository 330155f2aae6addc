import { Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { memo, useContext, useEffect, useMemo, useRef, useState } from 'react';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { exportPath, useExport } from '../export_context.ts';
import { BusyButton } from '../../page/busy_button.tsx';
import { Form } from '../../form/form.tsx';
import { Shown } from '../../page/shown.tsx';
import { useReadAnew } from '../read_anew.ts';
import { counted, inBytes } from '../../page/text/quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { exactRange } from '../../time/words.ts';
import type { Span } from '../slots/boundaries.ts';
import type { Picked } from '../slots/clocks.ts';
import { rhythmOf, slotAt } from '../slots/boundaries.ts';
import { isoInstant } from '../slots/slots.ts';
import { by_dates } from './by_dates.ts';
import { backfillPath, planOf } from './backfills.ts';
import type { Repaired } from './backfills.ts';
import { bytesOf } from './estimate.ts';
import { RangeForm } from './range_form.tsx';
import { RepairProgress } from './repair_progress.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');

type Given = {
  selection: Picked | undefined;
  setSelection: (selection: Picked) => void;
  close: () => void;
};

/**
 * Repairs the selection, on the map or by dates: first the plan with its current counts, then a
 * button, then the progress.
 */
export const Repair = memo(function Repair(given: Given) {
  const { backfill } = route.useSearch();
  if (backfill !== undefined && backfill !== by_dates)
    return <RepairProgress id={backfill} close={given.close} />;
  if (given.selection === undefined && backfill === undefined) return undefined;
  const by = given.selection?.by ?? 'inserted_at';
  return <Asked key={by} {...given} by={by} is_by_dates={backfill === by_dates} />;
});

type Choice = Pick<Repaired, 'mode' | 'by'>;

const modes: { value: Choice['mode']; label: string }[] = [
  { value: 'missing', label: 'Only missing rows' },
  { value: 'all', label: 'All rows again' },
];

const times: { value: Choice['by']; label: string }[] = [
  { value: 'inserted_at', label: 'Ingestion time' },
  { value: 'timestamp', label: 'Event time' },
];

function Asked({
  selection,
  setSelection,
  close,
  by,
  is_by_dates,
}: Given & { by: Choice['by']; is_by_dates: boolean }) {
  const section = useRef<HTMLElement>(null);
  const [choice, setChoice] = useState<Choice>({ mode: 'missing', by });
  const of = keyOf(selection);
  const [typed_over, setTypedOver] = useState<string>();
  useEffect(() => {
    if (is_by_dates) section.current!.querySelector('input')?.focus();
  }, [is_by_dates]);
  return (
    <section className="panel repair" aria-label="Backfill" ref={section}>
      <div className="part_head">
        <h2>Backfill</h2>
        <Button size="compact-sm" onClick={close}>
          Close
        </Button>
      </div>
      <RangeForm
        of={of}
        selection={selection}
        typed={() => setTypedOver(of)}
        choose={(span) => {
          setTypedOver(undefined);
          setSelection({ ...span, by });
        }}
      />
      <Chosen choice={choice} setChoice={setChoice} />
      {typed_over !== of && selection !== undefined && (
        <Planned key={of} selection={selection} choice={choice} />
      )}
    </section>
  );
}

const keyOf = (span: Span | undefined) => (span === undefined ? '' : `${span.from} ${span.to}`);

/** Chooses the rows. Persons only have the time of their latest change. */
function Chosen({ choice, setChoice }: { choice: Choice; setChoice: (choice: Choice) => void }) {
  const { row } = useExport();
  return (
    <div className="filters">
      {row.model === 'events' && (
        <NativeSelect
          size="sm"
          label="Range by"
          value={choice.by}
          onChange={({ target }) => setChoice({ ...choice, by: target.value as Choice['by'] })}
          data={times}
        />
      )}
      <NativeSelect
        size="sm"
        label="Deliver"
        value={choice.mode}
        onChange={({ target }) => setChoice({ ...choice, mode: target.value as Choice['mode'] })}
        data={modes}
      />
    </div>
  );
}

function Planned({ selection, choice }: { selection: Span; choice: Choice }) {
  const { row } = useExport();
  const zone = useContext(ZoneContext);
  const latest = slotAt(rhythmOf(row), useNow()).to;
  const end = Math.min(selection.to, latest);
  const repaired = useMemo<Repaired>(
    () => ({
      start_at: isoInstant(selection.from),
      end_at: isoInstant(end),
      ...choice,
    }),
    [selection.from, end, choice],
  );
  if (selection.from >= latest) return <p>This range is in the future: it has no rows yet.</p>;
  return (
    <>
      {zone !== 'UTC' && (
        <p className="muted small">
          {exactRange(repaired.start_at, isoInstant(selection.to), 'UTC')}.
        </p>
      )}
      <Plan repaired={repaired} />
    </>
  );
}

function Plan({ repaired }: { repaired: Repaired }) {
  const { row, ids } = useExport();
  const readAnew = useReadAnew(exportPath(ids));
  const navigate = route.useNavigate();
  const query = useQuery(planOf(ids, repaired));
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
          <Numbers plan={plan} bytes={bytesOf(sizeOf(plan), row)} />
          {plan.progress.records_total_count === 0 ? (
            <Nothing has_other={row.model === 'events' && repaired.by === 'inserted_at'} />
          ) : (
            <Form
              path={backfillPath(ids)}
              body={() => repaired}
              done={started}
              button={`Deliver ${counted(plan.progress.records_total_count, 'row')}`}
            />
          )}
          <p className="muted small">
            Rows are counted as they are now.{' '}
            <BusyButton
              size="compact-xs"
              is_busy={query.isFetching}
              press={() => void query.refetch()}
            >
              Count again
            </BusyButton>
          </p>
          {row.latest_runs.some(hasGivenUp) && (
            <p className="muted small">
              The export has failed runs. Remove the cause, then{' '}
              <Link
                to="/projects/$project_id/exports/$export_id/runs"
                params={{ project_id: String(row.team_id), export_id: row.id }}
                search={{
                  status: 'failed',
                  after: repaired.start_at,
                  before: repaired.end_at,
                }}
              >
                retry them
              </Link>
              . The retry also resolves uncertain rows.
            </p>
          )}
        </>
      )}
    </Shown>
  );
}

const hasGivenUp = ({ status }: { status: string }) => status.startsWith('Failed');

function Nothing({ has_other }: { has_other: boolean }) {
  const hint = ' For events that an import or a phone brought later, choose “Event time”.';
  return <p>There is nothing to deliver.{has_other && hint}</p>;
}

const sizeOf = ({ progress, plan }: Backfill) => ({
  records: progress.records_total_count,
  runs: plan?.runs_with_records ?? 0,
});

const inNumbers = (count: number) => count.toLocaleString('en');

function Numbers({ plan, bytes }: { plan: Backfill; bytes: number | undefined }) {
  const { progress, mode } = plan;
  const delivered = plan.plan?.records_delivered_count ?? undefined;
  const doubled = mode === 'all' ? delivered : 0;
  const numbers: [string, string][] = [
    ['Rows to deliver', inNumbers(progress.records_total_count)],
    ['Will be doubled', doubled === undefined ? 'unknown for a query' : inNumbers(doubled)],
    [
      'Delivered or in progress',
      delivered === undefined ? 'unknown for a query' : inNumbers(delivered),
    ],
    [
      'Runs',
      `${inNumbers(plan.plan?.runs_with_records ?? 0)} with rows, of ${inNumbers(plan.runs)}`,
    ],
    ...(bytes === undefined ? [] : [['Size', `about ${inBytes(bytes)}`] as [string, string]]),
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
