import { along_event, along_insertion, ascending, openSweep } from './sweep.ts';
import type { Axis } from './sweep.ts';

/**
 * A half-open range of event time x insertion time, in milliseconds since the epoch; ±Infinity
 * without a bound. An export's deliveries are a set of these, and a run delivers its own minus that
 * set, so no mixture of schedules, backfills and retries can lose or double a row.
 */
export type Rectangle = {
  event_from: number;
  event_to: number;
  inserted_from: number;
  inserted_to: number;
};

/** A rectangle as it is stored in JSON, where null stands for "no bound". */
export type StoredRectangle = { [Side in keyof Rectangle]: number | null };

/** Reads rectangles from JSON. */
export function fromStored(stored: StoredRectangle[]): Rectangle[] {
  return stored.map((side) => ({
    event_from: side.event_from ?? -Infinity,
    event_to: side.event_to ?? Infinity,
    inserted_from: side.inserted_from ?? -Infinity,
    inserted_to: side.inserted_to ?? Infinity,
  }));
}

/** Writes rectangles for JSON. */
export function toStored(rectangles: Rectangle[]): StoredRectangle[] {
  const bound = (value: number) => (Number.isFinite(value) ? value : null);
  return rectangles.map((side) => ({
    event_from: bound(side.event_from),
    event_to: bound(side.event_to),
    inserted_from: bound(side.inserted_from),
    inserted_to: bound(side.inserted_to),
  }));
}

/** Returns everything that was inserted before an instant, in milliseconds. */
export function historyUntil(inserted_to: number): Rectangle {
  return { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to };
}

/** Is it all of the past, from the first row on, and not a part of it? */
export function isHistory(selection: Rectangle[]): boolean {
  const [only, ...others] = selection;
  return (
    only !== undefined &&
    others.length === 0 &&
    only.event_from === -Infinity &&
    only.event_to === Infinity &&
    only.inserted_from === -Infinity
  );
}

/**
 * Returns the parts of a selection outside of `taken`; of a history that has such parts all of it,
 * because its rows replace a whole table.
 */
export function restOf(selection: Rectangle[], taken: Rectangle[]): Rectangle[] {
  const rest = subtract(selection, taken);
  return rest.length > 0 && isHistory(selection) ? selection : rest;
}

/**
 * Returns the parts of `base` outside of `taken`, as disjoint rectangles in a fixed order; the
 * rectangles of `base` must be disjoint. Takes time in proportion to the rectangles and the rest,
 * not to every pair of them.
 */
export function subtract(base: Rectangle[], taken: Rectangle[]): Rectangle[] {
  const whole = base.filter(isNotEmpty);
  const around = boundsOf(whole);
  const holes = openSweep(taken.filter((hole) => isNotEmpty(overlap(hole, around))));
  return merge(whole.flatMap((one) => withoutAll(one, holes.near(one), holes.axis)));
}

/**
 * Returns the parts both in one of `areas` and in one of `others`, as disjoint merged rectangles.
 */
export function intersect(areas: Rectangle[], others: Rectangle[]): Rectangle[] {
  const known = openSweep(others.filter(isNotEmpty));
  return unionOf(
    areas.flatMap((area) =>
      known
        .near(area)
        .map((other) => overlap(area, other))
        .filter(isNotEmpty),
    ),
  );
}

/** `delivered` and `added` together, as disjoint merged rectangles; both must be disjoint. */
export function union(delivered: Rectangle[], added: Rectangle[]): Rectangle[] {
  return merge([...delivered, ...subtract(added, delivered)]);
}

/** All of them together, whether they overlap or not, as disjoint merged rectangles. */
export function unionOf(rectangles: Rectangle[]): Rectangle[] {
  if (rectangles.length <= 1) return rectangles.filter(isNotEmpty);
  const half = rectangles.length >> 1;
  return union(unionOf(rectangles.slice(0, half)), unionOf(rectangles.slice(half)));
}

/**
 * Joins disjoint rectangles that share a whole edge until none do, and puts them in order, so that
 * equal areas built in the usual ways look equal.
 */
export function merge(rectangles: Rectangle[]): Rectangle[] {
  let current = rectangles.filter(isNotEmpty);
  for (;;) {
    const joined = joinAlongInsertion(joinAlongEvent(current));
    if (joined.length === current.length) return joined;
    current = joined;
  }
}

function isNotEmpty(side: Rectangle): boolean {
  return side.event_from < side.event_to && side.inserted_from < side.inserted_to;
}

function overlap(one: Rectangle, other: Rectangle): Rectangle {
  return {
    event_from: Math.max(one.event_from, other.event_from),
    event_to: Math.min(one.event_to, other.event_to),
    inserted_from: Math.max(one.inserted_from, other.inserted_from),
    inserted_to: Math.min(one.inserted_to, other.inserted_to),
  };
}

/** The smallest rectangle around all of them; nothing touches that of none. */
export function boundsOf(rectangles: Rectangle[]): Rectangle {
  const bounds = {
    event_from: Infinity,
    event_to: -Infinity,
    inserted_from: Infinity,
    inserted_to: -Infinity,
  };
  for (const one of rectangles) {
    bounds.event_from = Math.min(bounds.event_from, one.event_from);
    bounds.event_to = Math.max(bounds.event_to, one.event_to);
    bounds.inserted_from = Math.min(bounds.inserted_from, one.inserted_from);
    bounds.inserted_to = Math.max(bounds.inserted_to, one.inserted_to);
  }
  return bounds;
}

/** Holes lie along the axis, in order, so what one of them has passed is of no use to the next. */
function withoutAll(whole: Rectangle, holes: Rectangle[], axis: Axis): Rectangle[] {
  const passed: Rectangle[] = [];
  let ahead = [whole];
  for (const hole of holes) {
    const cut: Rectangle[] = [];
    for (const one of ahead)
      if (one[axis.to] <= hole[axis.from]) passed.push(one);
      else cut.push(...without(one, hole, axis));
    ahead = cut;
  }
  return [...passed, ...ahead];
}

/** Parts beside the hole keep the width of the hole alone, along the axis. */
function without(whole: Rectangle, hole: Rectangle, axis: Axis): Rectangle[] {
  const inner = overlap(whole, hole);
  if (!isNotEmpty(inner)) return [whole];
  const { from, to } = axis;
  const across = axis === along_event ? along_insertion : along_event;
  const beside = { ...whole, [from]: inner[from], [to]: inner[to] };
  return [
    { ...whole, [to]: inner[from] },
    { ...beside, [across.to]: inner[across.from] },
    { ...beside, [across.from]: inner[across.to] },
    { ...whole, [from]: inner[to] },
  ].filter(isNotEmpty);
}

function joinAlongEvent(rectangles: Rectangle[]): Rectangle[] {
  const sorted = rectangles.toSorted(
    (a, b) =>
      ascending(a.inserted_from, b.inserted_from) ||
      ascending(a.inserted_to, b.inserted_to) ||
      ascending(a.event_from, b.event_from),
  );
  return joinNeighbours(sorted, (a, b) =>
    a.inserted_from === b.inserted_from &&
    a.inserted_to === b.inserted_to &&
    a.event_to === b.event_from
      ? { ...a, event_to: b.event_to }
      : undefined,
  );
}

function joinAlongInsertion(rectangles: Rectangle[]): Rectangle[] {
  const sorted = rectangles.toSorted(
    (a, b) =>
      ascending(a.event_from, b.event_from) ||
      ascending(a.event_to, b.event_to) ||
      ascending(a.inserted_from, b.inserted_from),
  );
  const joined = joinNeighbours(sorted, (a, b) =>
    a.event_from === b.event_from && a.event_to === b.event_to && a.inserted_to === b.inserted_from
      ? { ...a, inserted_to: b.inserted_to }
      : undefined,
  );
  return joined.toSorted(
    (a, b) => ascending(a.inserted_from, b.inserted_from) || ascending(a.event_from, b.event_from),
  );
}

function joinNeighbours(
  sorted: Rectangle[],
  join: (a: Rectangle, b: Rectangle) => Rectangle | undefined,
): Rectangle[] {
  const result: Rectangle[] = [];
  for (const rectangle of sorted) {
    const last = result.at(-1);
    const joined = last === undefined ? undefined : join(last, rectangle);
    if (joined === undefined) result.push(rectangle);
    else result[result.length - 1] = joined;
  }
  return result;
}
