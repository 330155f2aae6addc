import type { Key, ReactNode } from 'react';
import { Table } from './table.tsx';

type Cell<One> = (one: One) => ReactNode;
/** The look of a column: its numbers right, its words broken anywhere, or on one line. */
type Look = 'number' | 'long' | 'short';
/** The columns of a table by their headings. The cell of the first one names the row. */
export type Columns<One> = Record<string, Cell<One> | Partial<Record<Look, Cell<One>>>>;

/** The records of a table, and its columns; `keyOf` returns what tells records apart. */
export type RowsGiven<One> = { columns: Columns<One>; keyOf: (one: One) => Key };

/** A table of records with headings; on narrow screens, each row is a card. */
export function Rows<One>({
  rows,
  columns,
  keyOf,
}: RowsGiven<NoInfer<One>> & { rows: readonly One[] }) {
  const drawn = Object.entries(columns).map(([name, column]) => {
    const [look, cell] =
      typeof column === 'function' ? [undefined, column] : Object.entries(column)[0]!;
    return { name, look, cell };
  });
  return (
    <div className="scrolled">
      <Table className="cards whole_words hovered">
        <Table.Thead>
          <Table.Tr>
            {drawn.map(({ name, look }) => (
              <Table.Th key={name} className={look === 'number' ? look : undefined}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((one) => (
            <Table.Tr key={keyOf(one)}>
              {drawn.map(({ name, look, cell }, at) =>
                at === 0 ? (
                  <Table.Th key={name} scope="row" className={look}>
                    {cell(one)}
                  </Table.Th>
                ) : (
                  <Table.Td key={name} data-label={name} className={look}>
                    {cell(one)}
                  </Table.Td>
                ),
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
