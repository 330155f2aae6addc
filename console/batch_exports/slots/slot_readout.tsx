import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { useInLabels } from '../../destinations/destinations.ts';
import { useExport } from '../export_context.ts';
import { repeatOf } from '../runs/intervals.ts';
import { receiptOf } from '../runs/runs.ts';
import { run_states } from '../state.ts';
import { StateMark } from '../state_mark.tsx';
import { latestBackfills } from '../backfills/backfills.ts';
import { ReceiptLink } from '../runs/receipt_link.tsx';
import { Instant } from '../../time/instant.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { rangeAt } from './drawn.ts';
import { inWords, isSelectable, kindOf } from './kinds.ts';
import { clock_names } from './clocks.ts';
import type { Picked } from './clocks.ts';
import type { Lane } from './lanes.ts';
import { Sign } from './sign.tsx';
import { isoInstant, runsOfSlot } from './slots.ts';
import { counted } from '../../page/text/quantities.ts';
import type { ExportIds } from '../export_context.ts';

/** Time that the pointer rests on a slot before the server is asked about it. */
const rest_ms = 150;

/** Shows the slot under the pointer: its state and reason, its run, rows and receipt. */
export function SlotReadout({
  cursor,
  lanes,
  setSelection,
}: {
  cursor: Picked | undefined;
  lanes: readonly Lane[];
  setSelection: (selection: Picked) => void;
}) {
  const rested = useRested(cursor);
  const lane = lanes.find(({ by }) => by === cursor?.by);
  const range = lane === undefined ? undefined : rangeAt(lane.drawn, cursor!.from);
  if (cursor === undefined || range === undefined)
    return <div className="readout muted">Point at a slot to see its run.</div>;
  return (
    <div className="readout" aria-live="polite">
      <p>
        <strong>
          <Instant at={isoInstant(cursor.from)} is_exact /> to{' '}
          <Instant at={isoInstant(cursor.to)} is_exact />
        </strong>
        {lanes.length > 1 && <span className="muted"> {clock_names[cursor.by]}</span>}
      </p>
      <p>
        <Sign kind={kindOf(range)} /> {inWords(range)}.{' '}
        <span className="muted">
          <Sentence text={range.detail} />
        </span>{' '}
        {isSelectable(range) && (
          <Button size="compact-xs" onClick={() => setSelection(cursor)}>
            Select this slot
          </Button>
        )}
      </p>
      {rested?.from === cursor.from && rested.by === cursor.by && range.state !== 'waiting' && (
        <SlotRun slot={rested} />
      )}
    </div>
  );
}

function useRested(cursor: Picked | undefined): Picked | undefined {
  const [rested, setRested] = useState<Picked>();
  useEffect(() => {
    const timer = setTimeout(() => setRested(cursor), rest_ms);
    return () => clearTimeout(timer);
  }, [cursor]);
  return rested;
}

function SlotRun({ slot }: { slot: Picked }) {
  const { row, ids } = useExport();
  const inLabels = useInLabels(row.destination.type);
  const { data } = useQuery(runsOfSlot(ids, slot));
  const backfills = useQuery(latestBackfills(ids)).data?.results ?? [];
  if (data === undefined) return undefined;
  // The interval of a run is event time if its backfill goes by event time.
  const by_event_time = new Set(backfills.flatMap(({ id, by }) => (by === 'timestamp' ? id : [])));
  const own = data.results.filter(
    ({ backfill }) => by_event_time.has(backfill) === (slot.by === 'timestamp'),
  );
  const run = own.find(({ status }) => status === 'Completed') ?? own[0];
  if (run === undefined) return <p className="muted">It has no run of its own.</p>;
  const params = { project_id: String(row.team_id), export_id: row.id, run_id: run.id };
  const repeat = repeatOf(run);
  return (
    <p>
      <Link to="/projects/$project_id/exports/$export_id/runs/$run_id" params={params}>
        Run {run.id.slice(-8)}
      </Link>{' '}
      <StateMark state={run_states[run.status]} />
      {run.records_completed !== null && `, ${counted(run.records_completed, 'row')}`}
      {repeat !== undefined && `, ${repeat}`}
      {run.latest_error !== null && `: ${inLabels(run.latest_error)}`}
      {run.status === 'Completed' && <Objects run={run} ids={ids} />}
    </p>
  );
}

/** Shows the run's objects and its receipt. */
function Objects({ run, ids }: { run: BatchExportRun; ids: ExportIds }) {
  const { data } = useQuery(receiptOf(ids, run.id));
  if (data === undefined) return undefined;
  const [first, ...others] = data.slices;
  return (
    <>
      {first !== undefined && (
        <>
          , in <code>{first.name}</code>
          {others.length > 0 && ` and ${others.length} more`}
        </>
      )}
      , <ReceiptLink ids={ids} run_id={run.id} />
    </>
  );
}
