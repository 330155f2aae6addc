import { along_event, along_insertion, ascending, openSweep } from './sweep.ts';
import type { Axis } from './sweep.ts';

/**
 * A half-open range of event time x insertion time, in milliseconds since the epoch; ±Infinity
 * without a bound. An export's deliveries are a set of rectangles, and a run delivers its own
 * rectangles minus that set. So no mixture of schedules, backfills and retries can lose or
 * duplicate a row.
 */
export type Rectangle = {
  event_from: number;
  event_to: number;
  inserted_from: number;
  inserted_to: number;
};

/** A rectangle in JSON, where null stands for "no bound". */
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

/** Returns the rectangle of all rows inserted before an instant, in milliseconds. */
export function historyUntil(inserted_to: number): Rectangle {
  return { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to };
}

/** Returns true if the selection is the whole past, from the first row on. */
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
 * Returns the parts of a selection outside `taken`. A history with such parts is returned whole,
 * because its rows replace a whole table.
 */
export function restOf(selection: Rectangle[], taken: Rectangle[]): Rectangle[] {
  const rest = subtract(selection, taken);
  return rest.length > 0 && isHistory(selection) ? selection : rest;
}

/**
 * Returns the parts of `base` outside `taken`, as disjoint rectangles in a fixed order. The
 * rectangles of `base` must be disjoint. Its time grows with the number of rectangles and the rest,
 * not with their pairs.
 */
export function subtract(base: Rectangle[], taken: Rectangle[]): Rectangle[] {
  const whole = base.filter(isNotEmpty);
  const around = boundsOf(whole);
  const holes = openSweep(taken.filter((hole) => isNotEmpty(overlap(hole, around))));
  return merge(whole.flatMap((one) => withoutAll(one, holes.near(one), holes.axis)));
}

/** Returns the overlap of `areas` and `others`, as disjoint merged rectangles. */
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

/**
 * Returns the union of `delivered` and `added`, as disjoint merged rectangles. Both inputs must be
 * disjoint.
 */
export function union(delivered: Rectangle[], added: Rectangle[]): Rectangle[] {
  return merge([...delivered, ...subtract(added, delivered)]);
}

/** Returns the union of rectangles that may overlap, as disjoint merged rectangles. */
export function unionOf(rectangles: Rectangle[]): Rectangle[] {
  if (rectangles.length <= 1) return rectangles.filter(isNotEmpty);
  const half = rectangles.length >> 1;
  return union(unionOf(rectangles.slice(0, half)), unionOf(rectangles.slice(half)));
}

/**
 * Joins disjoint rectangles that share a whole edge until no pair does, and sorts them, so that
 * equal areas usually get equal rectangles.
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

/** Returns the smallest rectangle around all rectangles. For an empty list, it touches nothing. */
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

/** Holes are sorted along the axis, so later holes cannot touch earlier parts. */
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

/** Parts beside the hole only have the hole's width along the axis. */
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
