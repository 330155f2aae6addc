import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** A table of records under the names of its columns; on narrow screens each row is a card. */
export function Rows({ columns, children }: { columns: string[]; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table highlightOnHover className="cards whole_words">
        <Table.Thead>
          <Table.Tr>
            {columns.map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
