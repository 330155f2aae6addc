import { Rows } from '../../page/tables/rows.tsx';
import type { RowsGiven } from '../../page/tables/rows.tsx';
import { inTime } from '../../page/text/quantities.ts';
import { Instant } from '../../time/instant.tsx';

const rows_max = 500;

/** Shows a number of seconds; nothing without one. */
export const secondsInWords = (seconds: number | null) => (seconds === null ? '' : inTime(seconds));

/** The points of charts as a table, newest first. */
export function PointTable<Point extends { start_at: string }>({
  from,
  points,
  keyOf,
  columns,
}: {
  /** The heading of the column with the points' starts. */
  from: string;
  points: Point[];
} & RowsGiven<NoInfer<Point>>) {
  return (
    <>
      <Rows
        rows={points.toReversed().slice(0, rows_max)}
        keyOf={keyOf}
        columns={{ [from]: ({ start_at }) => <Instant at={start_at} is_exact />, ...columns }}
      />
      {points.length > rows_max && <p className="muted">The newest {rows_max} are shown.</p>}
    </>
  );
}
