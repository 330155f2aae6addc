import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { Link } from '@tanstack/react-router';
import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { Empty } from '../../page/empty.tsx';
import { useRowsAround } from '../../page/printing.ts';
import { useExport } from '../export_context.ts';
import { counted, inBytes } from '../../page/quantities.ts';
import { run_states } from '../state.ts';
import { Instant } from '../../time/instant.tsx';
import { RunActions } from './run_actions.tsx';

const row_height = 46;

/**
 * Runs, however many: only those in the window have elements. The next are read when the end comes
 * near.
 */
export function RunList({
  runs,
  has_more,
  is_waiting,
  more,
  is_narrowed,
}: {
  runs: BatchExportRun[];
  has_more: boolean;
  is_waiting: boolean;
  more: () => void;
  is_narrowed: boolean;
}) {
  const list = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
  }, []);
  // oxlint-disable-next-line react/incompatible-library -- no result of it is memoized.
  const rows = useWindowVirtualizer({
    count: runs.length,
    estimateSize: () => row_height,
    getItemKey: (index) => runs[index]!.id,
    scrollMargin: top,
    overscan: useRowsAround(12),
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (has_more && !is_waiting && last >= runs.length - 20) more();
  }, [has_more, is_waiting, last, runs.length, more]);
  if (runs.length === 0) return <NoRuns is_narrowed={is_narrowed} />;
  return (
    <div role="table" aria-label="Runs" aria-rowcount={has_more ? -1 : runs.length + 1}>
      <div role="row" aria-rowindex={1} className="run_row run_head">
        {['Data of', 'Kind', 'State', 'Rows', 'Bytes', 'Ended', 'Actions'].map((name) => (
          <span role="columnheader" key={name}>
            {name}
          </span>
        ))}
      </div>
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
            <Row run={runs[index]!} />
          </div>
        ))}
      </div>
      {is_waiting && <p className="muted">Reading more…</p>}
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

const kinds = { scheduled: 'schedule', make_up: 'make up', backfill: 'backfill' } as const;

/** Drawn once for each answer about the run, however the window moves. */
const Row = memo(function Row({ run }: { run: BatchExportRun }) {
  const { row } = useExport();
  const { word, tone } = run_states[run.status];
  const params = { project_id: String(row.team_id), export_id: row.id, run_id: run.id };
  return (
    <>
      <span role="cell">
        <Link to="/projects/$project_id/exports/$export_id/runs/$run_id" params={params}>
          <Instant at={run.data_interval_start} is_exact />
        </Link>
      </span>
      <span role="cell" className="muted">
        {kinds[run.kind]}
      </span>
      <span role="cell" title={run.latest_error ?? undefined}>
        <span className={tone}>{word}</span>
        {run.latest_error !== null && <span className="muted"> {run.latest_error}</span>}
      </span>
      <span role="cell" className="number">
        {run.records_completed === null ? '' : counted(run.records_completed, 'row')}
        {run.records_rejected > 0 && (
          <span className="warn"> {run.records_rejected.toLocaleString('en')} refused</span>
        )}
      </span>
      <span role="cell" className="number">
        {run.bytes_completed === 0 ? '' : inBytes(run.bytes_completed)}
      </span>
      <span role="cell" className="muted">
        {run.finished_at === null ? '' : <Instant at={run.finished_at} />}
      </span>
      <span role="cell" className="row_actions">
        <RunActions run={run} />
      </span>
    </>
  );
});
