import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useContext, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { ByEventTime } from '../backfills/by_event_time.tsx';
import { Repair } from '../backfills/repair.tsx';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { MayBeOld, Refusal, Waiting } from '../../page/shown.tsx';
import { ZoneContext } from '../../time/instant.tsx';
import { slotLength, slotsTouched } from './boundaries.ts';
import type { Rhythm, Span } from './boundaries.ts';
import { drawnOf, partsIn } from './drawn.ts';
import type { Drawn, Part } from './drawn.ts';
import { Legend } from './legend.tsx';
import { SlotMap } from './map.tsx';
import { RangeTable } from './range_table.tsx';
import { SlotReadout } from './slot_readout.tsx';
import { usePosition } from './position.ts';
import { slotsOf } from './slots.ts';
import { Toolbar } from './toolbar.tsx';
import { askedFor, serves } from './view.ts';
import type { ExportIds } from '../export_context.ts';

/**
 * The map of an export's slots, and what can be done about those that are missing. The map follows
 * the hand; what is read beside it may come a picture later.
 */
export function MapPage() {
  const { row, ids } = useExport();
  const zone = useContext(ZoneContext);
  const { view, setView, selection, setSelection } = usePosition(
    slotLength(row),
    Date.parse(row.start_at ?? row.created_at),
  );
  const close = useCallback(() => setSelection(undefined), [setSelection]);
  const [cursor, setCursor] = useState<Span>();
  const { drawn, rhythm, query } = useSlots(ids, view, row.interval);
  const beside = {
    drawn: useDeferredValue(drawn) ?? drawn,
    view: useDeferredValue(view),
    selection: useDeferredValue(selection),
  };
  const parts = useParts(beside.drawn, rhythm, beside.view);
  const zones = useMemo(() => (zone === 'UTC' ? ['UTC'] : [zone, 'UTC']), [zone]);
  if (drawn === undefined || rhythm === undefined)
    return query.error === null ? <Waiting /> : <Refusal problem={query.error} />;
  return (
    <>
      <Toolbar view={view} setView={setView} slot_ms={slotLength(row)} />
      <MayBeOld problem={query.error} />
      {zones.length > 1 && (
        <p className="muted small">Clocks under the map: {zones.join(', then ')}.</p>
      )}
      <SlotMap
        {...{ view, setView, rhythm, drawn, cursor, setCursor, selection, setSelection, zones }}
      />
      <Legend parts={parts} />
      <ByEventTime />
      <SlotReadout cursor={cursor} drawn={drawn} setSelection={setSelection} />
      <Repair
        // One that is there already does not wait for its picture.
        selection={beside.selection ?? selection}
        {...{ setSelection, close }}
      />
      <RangeTable parts={parts} setSelection={setSelection} />
    </>
  );
}

/** Returns the visible part of each range, by whole slots. */
function useParts(drawn: Drawn | undefined, rhythm: Rhythm | undefined, view: Span): Part[] {
  return useMemo(
    () =>
      drawn === undefined || rhythm === undefined ? [] : partsIn(drawn, slotsTouched(rhythm, view)),
    [drawn, rhythm, view],
  );
}

/** The slots around the view; those of the last view stay until there are others. */
function useSlots(ids: ExportIds, view: Span, interval: Rhythm['interval']) {
  const slot_ms = slotLength({ interval });
  const [last, setLast] = useState(() => askedFor(view, slot_ms));
  const asked = serves(last, view, slot_ms) ? last : askedFor(view, slot_ms);
  if (asked !== last && serves(asked, view, slot_ms)) setLast(asked);
  const query = useInfiniteQuery({
    ...slotsOf(ids, asked),
    placeholderData: (before) => before,
  });
  const { data, hasNextPage, isFetching, fetchNextPage, refetch } = query;
  useRunsFollowed(refetch);
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const pages = data?.pages;
  const drawn = useMemo(
    () => (pages === undefined ? undefined : drawnOf(pages.flatMap(({ ranges }) => ranges))),
    [pages],
  );
  const timezone = pages?.[0]?.timezone;
  const rhythm = useMemo(
    () => (timezone === undefined ? undefined : { interval, timezone }),
    [interval, timezone],
  );
  return { drawn, rhythm, query };
}
