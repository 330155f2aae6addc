/**
 * A half-open range of event time x insertion time, in milliseconds since the epoch; ±Infinity
 * where it has no bound. What an export has delivered is a set of these, and a run delivers its own
 * minus that set, so no mixture of schedules, backfills and retries can lose or double a row.
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

/**
 * What is in `base` and in none of `taken`, as disjoint rectangles in a fixed order; the rectangles
 * of `base` must be disjoint.
 */
export function subtract(base: Rectangle[], taken: Rectangle[]): Rectangle[] {
  let rest = base.filter(isNotEmpty);
  for (const hole of taken) rest = rest.flatMap((rectangle) => without(rectangle, hole));
  return merge(rest);
}

/** What is both in one of `areas` and in one of `others`, as disjoint merged rectangles. */
export function intersect(areas: Rectangle[], others: Rectangle[]): Rectangle[] {
  return areas.reduce<Rectangle[]>(
    (sum, area) =>
      others.reduce<Rectangle[]>(
        (inner, other) => union(inner, [overlap(area, other)].filter(isNotEmpty)),
        sum,
      ),
    [],
  );
}

/** `delivered` and `added` together, as disjoint merged rectangles. */
export function union(delivered: Rectangle[], added: Rectangle[]): Rectangle[] {
  return merge([...delivered, ...subtract(added, delivered)]);
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

/** True when the point lies in one of the rectangles. */
export function contains(rectangles: Rectangle[], eventTime: number, insertedAt: number): boolean {
  return rectangles.some(
    (side) =>
      eventTime >= side.event_from &&
      eventTime < side.event_to &&
      insertedAt >= side.inserted_from &&
      insertedAt < side.inserted_to,
  );
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

function without(whole: Rectangle, hole: Rectangle): Rectangle[] {
  const inner = overlap(whole, hole);
  if (!isNotEmpty(inner)) return [whole];
  return [
    { ...whole, inserted_to: inner.inserted_from },
    {
      ...whole,
      inserted_from: inner.inserted_from,
      inserted_to: inner.inserted_to,
      event_to: inner.event_from,
    },
    {
      ...whole,
      inserted_from: inner.inserted_from,
      inserted_to: inner.inserted_to,
      event_from: inner.event_to,
    },
    { ...whole, inserted_from: inner.inserted_to },
  ].filter(isNotEmpty);
}

// Infinity - Infinity is NaN, so bounds are compared and not subtracted.
function order(left: number, right: number): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function joinAlongEvent(rectangles: Rectangle[]): Rectangle[] {
  const sorted = rectangles.toSorted(
    (a, b) =>
      order(a.inserted_from, b.inserted_from) ||
      order(a.inserted_to, b.inserted_to) ||
      order(a.event_from, b.event_from),
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
      order(a.event_from, b.event_from) ||
      order(a.event_to, b.event_to) ||
      order(a.inserted_from, b.inserted_from),
  );
  const joined = joinNeighbours(sorted, (a, b) =>
    a.event_from === b.event_from && a.event_to === b.event_to && a.inserted_to === b.inserted_from
      ? { ...a, inserted_to: b.inserted_to }
      : undefined,
  );
  return joined.toSorted(
    (a, b) => order(a.inserted_from, b.inserted_from) || order(a.event_from, b.event_from),
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
