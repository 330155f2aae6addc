import type { Rectangle } from '../../../server/engine/model/ledger/rectangles.ts';

/** Returns true if the point is in one of the rectangles. */
export function contains(rectangles: Rectangle[], eventTime: number, insertedAt: number): boolean {
  return rectangles.some(
    (side) =>
      eventTime >= side.event_from &&
      eventTime < side.event_to &&
      insertedAt >= side.inserted_from &&
      insertedAt < side.inserted_to,
  );
}
