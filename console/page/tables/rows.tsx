import type { ReactNode } from 'react';
import { Table } from './table.tsx';

/** A table of records under the names of its columns; on narrow screens each row is a card. */
export function Rows({
  columns,
  numbers = [],
  children,
}: {
  columns: string[];
  /** Those of the columns that stand at the right, as their numbers do. */
  numbers?: string[];
  children: ReactNode;
}) {
  return (
    <div className="scrolled">
      <Table className="cards whole_words hovered">
        <Table.Thead>
          <Table.Tr>
            {columns.map((name) => (
              <Table.Th key={name} className={numbers.includes(name) ? 'number' : undefined}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </div>
  );
}
