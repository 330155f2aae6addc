import type { ReactNode } from 'react';
import { Rows } from '../../page/tables/rows.tsx';
import { Table } from '../../page/tables/table.tsx';
import { inTime } from '../../page/text/quantities.ts';
import { Instant } from '../../time/instant.tsx';

const rows_max = 500;

/** Shows a number of seconds; nothing without one. */
export const secondsInWords = (seconds: number | null) => (seconds === null ? '' : inTime(seconds));

/** The points of charts as a table, newest first; `numbers` are the columns after `words`. */
export function PointTable<Point extends { start_at: string }>({
  from,
  points,
  keyOf,
  words = {},
  numbers,
}: {
  /** The heading of the column with the points' starts. */
  from: string;
  points: Point[];
  keyOf: (point: Point) => string;
  words?: Record<string, (point: Point) => ReactNode>;
  numbers: Record<string, (point: Point) => ReactNode>;
}) {
  const names = Object.keys(numbers);
  return (
    <>
      <Rows columns={[from, ...Object.keys(words), ...names]} numbers={names}>
        {points
          .toReversed()
          .slice(0, rows_max)
          .map((point) => (
            <Table.Tr key={keyOf(point)}>
              <Table.Td data-label={from}>
                <Instant at={point.start_at} is_exact />
              </Table.Td>
              {Object.entries({ ...words, ...numbers }).map(([name, of]) => (
                <Table.Td
                  key={name}
                  data-label={name}
                  className={Object.hasOwn(numbers, name) ? 'number' : undefined}
                >
                  {of(point)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
      </Rows>
      {points.length > rows_max && <p className="muted">The newest {rows_max} are shown.</p>}
    </>
  );
}
