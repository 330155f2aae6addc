import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { Link } from '@tanstack/react-router';
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Empty } from '../../page/empty.tsx';
import type { ListedRun } from './listed_run.ts';
import { useRowsAround } from '../../page/around/printing.ts';
import { useInLabels } from '../../destinations/destinations.ts';
import { useExport } from '../export_context.ts';
import { counted, inBytes } from '../../page/text/quantities.ts';
import { stateOfRun } from '../state.ts';
import { StateMark } from '../state_mark.tsx';
import { Instant } from '../../time/instant.tsx';
import { foldRuns, kindInWords, repeatOf, retryNoteOf } from './intervals.ts';
import type { RunInterval } from './intervals.ts';
import { NextTry } from './next_try.tsx';
import { RunActions } from './run_actions.tsx';

const row_height = 46;

/**
 * The list of runs by interval: only visible ones have elements. Scrolling near the end reads more.
 */
export function RunList({
  runs,
  has_more,
  is_waiting,
  more,
  is_narrowed,
}: {
  runs: ListedRun[];
  has_more: boolean;
  is_waiting: boolean;
  more: () => void;
  is_narrowed: boolean;
}) {
  const intervals = useMemo(() => foldRuns(runs), [runs]);
  const { isOpen, turn } = useFolds();
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  // oxlint-disable-next-line react/incompatible-library -- no result of it is memoized.
  const rows = useWindowVirtualizer({
    count: intervals.length,
    estimateSize: () => row_height,
    getItemKey: (index) => intervals[index]!.key,
    scrollMargin: top,
    overscan: useRowsAround(12),
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (has_more && !is_waiting && last >= intervals.length - 20) more();
  }, [has_more, is_waiting, last, intervals.length, more]);
  const row_count = has_more ? -1 : intervals.length + 1;
  if (runs.length === 0) return <NoRuns is_narrowed={is_narrowed} />;
  return (
    <div role="table" aria-label="Runs" aria-rowcount={row_count} className="sheet run_list">
      <Head />
      <div ref={list} role="rowgroup" className="run_rows" style={{ height: rows.getTotalSize() }}>
        {items.map(({ key, index, start }) => (
          <div
            key={key}
            ref={rows.measureElement}
            data-index={index}
            role="row"
            aria-rowindex={index + 2}
            className="run_row"
            style={{ transform: `translateY(${start - top}px)` }}
          >
            <Row interval={intervals[index]!} is_open={isOpen(intervals[index]!.key)} turn={turn} />
          </div>
        ))}
      </div>
      {is_waiting && <p className="muted">Reading more…</p>}
    </div>
  );
}

function Head() {
  return (
    <div role="row" aria-rowindex={1} className="run_row run_head">
      {columns.map((name) => (
        <span role="columnheader" key={name}>
          {name}
        </span>
      ))}
    </div>
  );
}

function NoRuns({ is_narrowed }: { is_narrowed: boolean }) {
  return is_narrowed ? (
    <Empty title="No runs match">Choose another status, or a longer time.</Empty>
  ) : (
    <Empty title="No runs yet">
      Each interval of the export gets a run once its data are final. A backfill starts runs at
      once.
    </Empty>
  );
}

/** The open lines, stored apart because their elements come and go with scrolling. */
function useFolds() {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const turn = useCallback(
    (key: string) =>
      setOpen((before) =>
        before.has(key) ? before.difference(new Set([key])) : new Set([...before, key]),
      ),
    [],
  );
  return { isOpen: (key: string) => open.has(key), turn };
}

const columns = ['Data of', 'Kind', 'State', 'Rows', 'Bytes', 'Ended', 'Actions'];

/** Rendered once for each answer about the runs, regardless of scrolling. */
const Row = memo(function Row({
  interval,
  is_open,
  turn,
}: {
  interval: RunInterval;
  is_open: boolean;
  turn: (key: string) => void;
}) {
  const { told, state, runs, key, records_completed, records_rejected, bytes_completed } = interval;
  return (
    <>
      <span role="cell">
        <RunLink run={told}>
          <Instant at={told.data_interval_start} is_exact />
        </RunLink>
      </span>
      <span role="cell" className="muted">
        {kindInWords(told)}
      </span>
      <div role="cell">
        <p className="run_state">
          <StateMark state={state} />{' '}
          <span className="muted">
            <Notes interval={interval} />
          </span>{' '}
          {(runs.length > 1 || interval.attempts > 1) && (
            <button
              type="button"
              className="fold"
              aria-expanded={is_open}
              onClick={() => turn(key)}
            >
              {is_open ? 'Hide' : 'Show'}{' '}
              {runs.length > 1
                ? counted(runs.length, 'run')
                : counted(interval.attempts, 'attempt')}
            </button>
          )}
        </p>
        {is_open && <Folded runs={runs} />}
      </div>
      <span role="cell" className="number">
        {rowsOf(told, records_completed)}
        {records_rejected > 0 && (
          <span className="warn"> {records_rejected.toLocaleString('en')} refused</span>
        )}
      </span>
      <span role="cell" className="number">
        {bytes_completed === 0 ? '' : inBytes(bytes_completed)}
      </span>
      <span role="cell" className="muted">
        {told.finished_at === null ? '' : <Instant at={told.finished_at} />}
      </span>
      <span role="cell" className="row_actions">
        <RunActions run={told} retry={told.retry} />
      </span>
    </>
  );
});

/** Returns the rows of a run; while it is open, also their total. */
function rowsOf(
  { finished_at, records_total_count: total }: ListedRun,
  records_completed: number | null,
): string {
  if (records_completed === null) return '';
  const completed = records_completed.toLocaleString('en');
  return finished_at !== null || total === null
    ? completed
    : `${completed} of ${total.toLocaleString('en')}`;
}

/** Shows, beside the state, what was repeated and why it is not delivered. */
function Notes({ interval: { told, runs } }: { interval: RunInterval }) {
  const inLabels = useInLabels(useExport().row.destination.type);
  const repeat = runs.findLast((run) => repeatOf(run) !== undefined);
  // A worker may still succeed.
  const is_bad = told.status !== 'Completed' && (told.finished_at ?? told.next_try_at) !== null;
  return (
    <>
      {repeat !== undefined && repeat !== runs[0] && (
        <>
          {repeatOf(repeat)} <Instant at={repeat.created_at} />.{' '}
        </>
      )}
      {retryNoteOf(told)}{' '}
      {is_bad &&
        told.retry !== 'completed' &&
        told.retry !== 'delivered' &&
        inLabels(told.latest_error ?? '')}{' '}
      {told.next_try_at !== null && <NextTry at={told.next_try_at} />}
    </>
  );
}

/** The runs of an interval, oldest first. */
function Folded({ runs }: { runs: ListedRun[] }) {
  const inLabels = useInLabels(useExport().row.destination.type);
  return (
    <ol className="folded">
      {runs.map((run) => {
        return (
          <li key={run.id}>
            <RunLink run={run}>
              {repeatOf(run) ?? 'first run'} <Instant at={run.created_at} />
            </RunLink>
            : <StateMark state={stateOfRun(run)} />
            {run.steps.length > 1 && ` after ${counted(run.steps.at(-1)!.attempt, 'attempt')}`}
            {run.status === 'Completed' && `, ${counted(run.records_completed ?? 0, 'row')}`}
            {run.status !== 'Completed' &&
              run.latest_error !== null &&
              `. ${inLabels(run.latest_error)}`}
          </li>
        );
      })}
    </ol>
  );
}

function RunLink({ run, children }: { run: ListedRun; children: ReactNode }) {
  const { row } = useExport();
  return (
    <Link
      to="/projects/$project_id/exports/$export_id/runs/$run_id"
      params={{ project_id: String(row.team_id), export_id: row.id, run_id: run.id }}
    >
      {children}
    </Link>
  );
}
