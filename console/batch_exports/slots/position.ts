import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { now } from '../../time/now.ts';
import type { Span } from './boundaries.ts';
import { clockOf } from './clocks.ts';
import type { Picked } from './clocks.ts';
import { isoInstant } from './slots.ts';
import { firstView, readView } from './view.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id/');
/** Pause before the address is updated with view and selection. */
const rest_ms = 250;

/** State that is newer than the address. `selection` is null for none. */
type Ahead = { view?: Span; selection?: Picked | null };

/** The search of the address. */
type Search = Partial<Record<string, string>>;

/** The visible time range, and its selection. */
export type Position = {
  view: Span;
  setView: (view: Span) => void;
  selection: Picked | undefined;
  setSelection: (selection: Picked | undefined) => void;
};

/**
 * Returns view and selection from the address, or the newer state while they move. `begun` is the
 * time of the export's first slot.
 */
export function usePosition(slot_ms: number, begun: number): Position {
  const search = route.useSearch();
  const { from = '', to = '', selected_from = '', selected_to = '', selected_by, ...rest } = search;
  const navigate = route.useNavigate();
  const is_followed = rest.backfill !== undefined;
  const [ahead, setAhead] = useAhead();
  const selected = useMemo(() => {
    const by = clockOf(selected_by);
    const span = { from: Date.parse(selected_from), to: Date.parse(selected_to), by };
    return span.from < span.to ? span : undefined;
  }, [selected_from, selected_to, selected_by]);
  const [first] = useState(() => firstView(slot_ms, now(), begun, selected));
  const settled = useMemo(() => readView(from, to, slot_ms) ?? first, [from, to, slot_ms, first]);
  const setView = useCallback(
    (view: Span) => setAhead((before) => ({ ...before, view })),
    [setAhead],
  );
  const setSelection = useCallback(
    (selection: Picked | undefined) => {
      setAhead((before) => ({ ...before, selection: selection ?? null }));
      // An earlier repair closes at once; a later one stays.
      if (is_followed)
        void navigate({ search: withoutBackfill, replace: true, resetScroll: false });
    },
    [setAhead, is_followed, navigate],
  );
  return {
    view: ahead.view ?? settled,
    setView,
    selection: ahead.selection === undefined ? selected : (ahead.selection ?? undefined),
    setSelection,
  };
}

const nothing: Ahead = {};

function useAhead() {
  const navigate = route.useNavigate();
  const [ahead, setAhead] = useState(nothing);
  useEffect(() => {
    if (ahead === nothing) return;
    const timer = setTimeout(() => {
      const search = (before: Search) => searchWith(before, ahead);
      // Changes during the update stay as newer state.
      void navigate({ search, replace: true, resetScroll: false }).then(() =>
        setAhead((present) => (present === ahead ? nothing : present)),
      );
    }, rest_ms);
    return () => clearTimeout(timer);
  }, [ahead, navigate]);
  return [ahead, setAhead] as const;
}

function withoutBackfill({ backfill: _backfill, ...rest }: Search): Search {
  return rest;
}

function searchWith(before: Search, { view, selection }: Ahead): Search {
  const shown = view && { from: isoInstant(view.from), to: isoInstant(view.to) };
  if (selection === undefined) return { ...before, ...shown };
  const { selected_from: _from, selected_to: _to, selected_by: _by, ...rest } = before;
  const selected = selection && {
    selected_from: isoInstant(selection.from),
    selected_to: isoInstant(selection.to),
    ...(selection.by === 'timestamp' ? { selected_by: selection.by } : {}),
  };
  return { ...rest, ...shown, ...selected };
}
