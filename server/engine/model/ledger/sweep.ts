/** One of the two times, by the names of its bounds in a rectangle. */
export type Axis = { from: 'event_from' | 'inserted_from'; to: 'event_to' | 'inserted_to' };

/** The axis of event times. */
export const along_event: Axis = { from: 'event_from', to: 'event_to' };
/** The axis of insertion times. */
export const along_insertion: Axis = { from: 'inserted_from', to: 'inserted_to' };

/** The bounds of an area in both times. */
type Bounds = Record<Axis['from'] | Axis['to'], number>;

/**
 * Sorts rectangles along the axis with the fewest overlaps: event time for the pieces of a
 * backfill, insertion time for those of a schedule.
 */
export type Sweep<Area extends Bounds> = {
  axis: Axis;
  sorted: Area[];
  /**
   * Returns the areas that overlap the other one on the axis, in order, without a scan of the rest.
   */
  near(other: Bounds): Area[];
};

/** Sorts rectangles once for any number of lookups. */
export function openSweep<Area extends Bounds>(rectangles: Area[]): Sweep<Area> {
  const orders = [along_insertion, along_event].map((axis) => {
    const sorted = rectangles.toSorted((one, other) => ascending(one[axis.from], other[axis.from]));
    return { axis, sorted, depth: depthOf(sorted, axis) };
  });
  const [one, other] = orders as [(typeof orders)[0], (typeof orders)[0]];
  const { axis, sorted } = other.depth < one.depth ? other : one;
  const reach = reachOf(sorted, axis);
  return {
    axis,
    sorted,
    near: (wanted) => {
      const found: Area[] = [];
      collect(found, 1, 0, reach.length >> 1);
      return found;

      /** Collects the part of `sorted` below a node of `reach`. */
      function collect(into: Area[], node: number, from: number, to: number): void {
        if (from >= sorted.length || sorted[from]![axis.from] >= wanted[axis.to]) return;
        if (reach[node]! <= wanted[axis.from]) return;
        if (to - from === 1) return void into.push(sorted[from]!);
        const middle = (from + to) >> 1;
        collect(into, 2 * node, from, middle);
        collect(into, 2 * node + 1, middle, to);
      }
    },
  };
}

/** Counts the most areas that overlap at one point; areas with the same start always do. */
function depthOf(sorted: Bounds[], { from, to }: Axis): number {
  const ends = sorted.map((one) => one[to]).sort(ascending);
  let [ended, depth] = [0, 0];
  for (const [begun, one] of sorted.entries()) {
    while (ends[ended]! <= one[from]) ended += 1;
    depth = Math.max(depth, begun + 1 - ended);
  }
  return depth;
}

/** Builds a tree over the order: each node holds the furthest end below it. */
function reachOf(sorted: Bounds[], { to }: Axis): Float64Array {
  let leaves = 1;
  while (leaves < sorted.length) leaves *= 2;
  const reach = new Float64Array(2 * leaves).fill(-Infinity);
  for (const [index, one] of sorted.entries()) reach[leaves + index] = one[to];
  for (let node = leaves - 1; node > 0; node -= 1)
    reach[node] = Math.max(reach[2 * node]!, reach[2 * node + 1]!);
  return reach;
}

/** Infinity - Infinity is NaN, so bounds are compared and not subtracted. */
export function ascending(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
