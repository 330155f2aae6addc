import type { ReactNode } from 'react';
import { Table } from './table.tsx';

/** A table of records with headings; on narrow screens, each row is a card. */
export function Rows({
  columns,
  numbers = [],
  children,
}: {
  columns: string[];
  /** Columns that are aligned right, like numbers. */
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
