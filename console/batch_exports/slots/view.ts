import type { Span } from './boundaries.ts';

/** Largest and smallest number of slots on the screen. */
const shown_slots_max = 200_000;
const shown_slots_min = 8;
/** Most slots and days that the API returns. */
const asked_slots_max = 250_000;
const asked_ms_max = 3_650 * 86_400_000;
/** Greatest ratio of the loaded span to the visible one. */
const asked_views_max = 16;
/** Number of slots in the first view, and its length for an old export. */
const first_slots = 24;
const first_ms = 30 * 86_400_000;
/** For a new export: multiple of its age, so that it nearly fills the map. */
const young_share = 1.125;

/**
 * Returns the first view: the latest slots and the current one, or the selection in the middle.
 * `begun` is the time of the export's first slot, or of the first slot that a backfill filled.
 */
export function firstView(
  slot_ms: number,
  now: number,
  begun: number,
  selection: Span | undefined,
): Span {
  const to = (Math.floor(now / slot_ms) + 2) * slot_ms;
  const lived_ms = Math.min(young_share * Math.max(now - begun, 0), first_ms);
  const from = to - Math.max(first_slots * slot_ms, Math.ceil(lived_ms / slot_ms) * slot_ms);
  if (selection === undefined || (selection.from >= from && selection.to <= to))
    return { from, to };
  const length = Math.max(selection.to - selection.from, first_slots * slot_ms * 0.5);
  return zoomed(
    selection,
    (selection.from + selection.to) / 2,
    (2 * length) / (selection.to - selection.from),
    slot_ms,
  );
}

/** Returns a view's length within the allowed limits. */
function lengthWithin(length: number, slot_ms: number): number {
  const longest = Math.min(shown_slots_max * slot_ms, asked_ms_max / 2);
  return Math.min(Math.max(length, shown_slots_min * slot_ms), longest);
}

/** Returns the view from the address; undefined if it has no valid one. */
export function readView(from: string, to: string, slot_ms: number): Span | undefined {
  const wanted = { from: Date.parse(from), to: Date.parse(to) };
  return wanted.from < wanted.to
    ? zoomed(wanted, (wanted.from + wanted.to) / 2, 1, slot_ms)
    : undefined;
}

/** Returns true if the loaded span covers the whole view, and is not much larger. */
export function serves(asked: Span, { from, to }: Span, slot_ms: number): boolean {
  const most = Math.min(asked_views_max * (to - from), asked_slots_max * slot_ms);
  return asked.from <= from && asked.to >= to && asked.to - asked.from <= most;
}

/** Returns the view with `factor` times as much time, keeping the position of `at`. */
export function zoomed({ from, to }: Span, at: number, factor: number, slot_ms: number): Span {
  const share = (at - from) / (to - from);
  const length = lengthWithin((to - from) * factor, slot_ms);
  return { from: Math.round(at - share * length), to: Math.round(at + (1 - share) * length) };
}

/** Returns the view moved by a share of its length; positive is later. */
export function moved({ from, to }: Span, share: number): Span {
  const by = Math.round((to - from) * share);
  return { from: from + by, to: to + by };
}

/** Returns the view, moved if needed so that it shows the span. */
export function showing(view: Span, { from, to }: Span): Span {
  if (from < view.from) return moved(view, (from - view.from) / (view.to - view.from));
  if (to > view.to) return moved(view, (to - view.to) / (view.to - view.from));
  return view;
}

/** Returns the span to load for the view: larger, in steps, so that small moves load nothing. */
export function askedFor({ from, to }: Span, slot_ms: number): Span {
  const step = 2 ** Math.ceil(Math.log2(to - from));
  const wanted = { from: Math.floor(from / step) * step, to: Math.ceil(to / step) * step };
  const most = Math.min(asked_slots_max * slot_ms, asked_ms_max) - 2 * slot_ms;
  if (wanted.to - wanted.from <= most) return wanted;
  const rest = Math.max(0, Math.floor((most - (to - from)) / 2));
  return { from: from - rest, to: to + rest };
}
