import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useCallback, useContext, useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { latestBackfills } from '../backfills/backfills.ts';
import { FailedByEventTime } from '../backfills/failed_by_event_time.tsx';
import { Repair } from '../backfills/repair.tsx';
import { FirstRows } from '../first_rows/first_rows.tsx';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { MayBeOld, Refusal, Waiting } from '../../page/shown.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { slotAt, slotLength, slotsTouched } from './boundaries.ts';
import type { Rhythm, Span } from './boundaries.ts';
import { drawnOf, partsIn } from './drawn.ts';
import type { Part } from './drawn.ts';
import { Gap } from './gap.tsx';
import type { Clock, Picked } from './clocks.ts';
import type { Lane } from './lanes.ts';
import { Legend } from './legend.tsx';
import { SlotMap } from './map.tsx';
import { RangeTable } from './range_table.tsx';
import { SlotReadout } from './slot_readout.tsx';
import { usePosition } from './position.ts';
import { slotsOf } from './slots.ts';
import { Toolbar } from './toolbar.tsx';
import { askedFor, serves } from './view.ts';
import type { ExportIds } from '../export_context.ts';

/** The map of an export, after its clocks were read. */
export function MapPage() {
  const { ids } = useExport();
  const { data, error } = useQuery(latestBackfills(ids));
  if (data === undefined) return error === null ? <Waiting /> : <Refusal problem={error} />;
  return (
    <SlotsPage backfills={data.results.filter(({ by }) => by === 'timestamp')}>
      <FirstRows />
    </SlotsPage>
  );
}

/**
 * The map of an export's slots by the clock of its schedule, and by event time if a backfill used
 * it; with actions for missing slots. The map follows the pointer at once; details beside it may
 * follow a frame later.
 */
function SlotsPage({ backfills, children }: { backfills: Backfill[]; children: ReactNode }) {
  const { row, ids } = useExport();
  const zone = useContext(ZoneContext);
  const { view, setView, selection, setSelection } = usePosition(
    slotLength(row),
    Math.min(
      Date.parse(row.start_at ?? row.created_at),
      ...backfills.map(({ start_at }) => Date.parse(start_at)),
    ),
  );
  const close = useCallback(() => setSelection(undefined), [setSelection]);
  const [cursor, setCursor] = useState<Picked>();
  const schedule = useSlots(ids, view, row.interval, 'inserted_at', true);
  const events = useSlots(ids, view, row.interval, 'timestamp', backfills.length > 0);
  const lanes = useMemo(
    () => [schedule.lane, events.lane].filter((lane) => lane !== undefined),
    [schedule.lane, events.lane],
  );
  // A backfill that is created later must not remove the map while it is read.
  const [lanes_min] = useState(backfills.length > 0 ? 2 : 1);
  const lines = useLines(row.created_at, slotLength(row));
  const { rhythm } = schedule;
  const beside = {
    lanes: useDeferredValue(lanes),
    view: useDeferredValue(view),
    selection: useDeferredValue(selection),
  };
  const parts = useParts(beside.lanes, rhythm, beside.view);
  const zones = useMemo(() => (zone === 'UTC' ? ['UTC'] : [zone, 'UTC']), [zone]);
  const problem = schedule.error ?? events.error;
  if (rhythm === undefined || lanes.length < lanes_min)
    return problem === null ? <Waiting /> : <Refusal problem={problem} />;
  return (
    <>
      <MayBeOld problem={problem} />
      <div className="sheet">
        <Toolbar view={view} setView={setView} slot_ms={slotLength(row)} />
        <SlotMap
          {...{ view, setView, rhythm, lanes, cursor, setCursor, selection, setSelection }}
          {...{ zones, lines }}
        />
        {zones.length > 1 && (
          <p className="muted small">Clocks under the map: {zones.join(', then ')}.</p>
        )}
        <Legend parts={parts} />
        <SlotReadout cursor={cursor ?? latestOf(parts, rhythm)} {...{ lanes, setSelection }} />
      </div>
      <Gap parts={parts} is_repairing={selection !== undefined} />
      <Repair
        // An open selection does not wait for its picture.
        selection={beside.selection ?? selection}
        {...{ setSelection, close }}
      />
      {children}
      <FailedByEventTime />
      <RangeTable parts={parts} setSelection={setSelection} />
    </>
  );
}

/** The instants marked on the map. */
function useLines(created_at: string, slot_ms: number) {
  // Less often than the clock, so that the picture is not repainted needlessly.
  const step = Math.max(60_000, slot_ms / 60);
  const at = Math.floor(useNow() / step) * step;
  return useMemo(
    () => [
      { at: Date.parse(created_at), text: 'export created' },
      { at, text: 'now' },
    ],
    [created_at, at],
  );
}

/** Returns the latest delivered slot in view, which is shown while none is under the pointer. */
function latestOf(parts: Part[], rhythm: Rhythm): Picked | undefined {
  const delivered = parts.filter(({ range }) => range.state === 'delivered');
  const [latest] = delivered.toSorted((one, other) => other.to - one.to);
  return latest && { ...slotAt(rhythm, latest.to - 1), by: latest.by };
}

/** Returns the visible part of each range, in whole slots. */
function useParts(lanes: readonly Lane[], rhythm: Rhythm | undefined, view: Span): Part[] {
  return useMemo(
    () =>
      rhythm === undefined
        ? []
        : lanes.flatMap((lane) => partsIn(lane, slotsTouched(rhythm, view))),
    [lanes, rhythm, view],
  );
}

/** Returns the slots around the view by a clock; the earlier ones stay until new ones arrive. */
function useSlots(
  ids: ExportIds,
  view: Span,
  interval: Rhythm['interval'],
  by: Clock,
  enabled: boolean,
) {
  const slot_ms = slotLength({ interval });
  const [last, setLast] = useState(() => askedFor(view, slot_ms));
  const asked = serves(last, view, slot_ms) ? last : askedFor(view, slot_ms);
  if (asked !== last && serves(asked, view, slot_ms)) setLast(asked);
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    ...slotsOf(ids, asked, by),
    placeholderData: (before) => before,
    enabled,
  });
  const changed = useCallback(() => (enabled ? refetch() : undefined), [enabled, refetch]);
  useRunsFollowed(changed);
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const pages = data?.pages;
  const lane = useMemo(
    () =>
      pages === undefined
        ? undefined
        : { by, drawn: drawnOf(pages.flatMap(({ ranges }) => ranges)) },
    [pages, by],
  );
  const { timezone, offset_minutes } = pages?.[0] ?? {};
  const rhythm = useMemo(
    () =>
      timezone === undefined || offset_minutes === undefined
        ? undefined
        : { interval, timezone, offset_minutes },
    [interval, timezone, offset_minutes],
  );
  return { lane, rhythm, error };
}
