import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { Rows } from '../page/tables/rows.tsx';
import { Table } from '../page/tables/table.tsx';

/** Lists the columns of a table with their field ids, its partitions and its sort order. */
export function Schema({ table }: { table: LakeTableDetails }) {
  const { columns, partitions, sort_order } = table;
  return (
    <>
      <Rows columns={['Column', 'Id', 'Type', 'Null']} numbers={['Id']}>
        {columns.map(({ id, name, type, required, doc }) => (
          <Table.Tr key={id}>
            <Table.Th scope="row">
              <bdi>{name}</bdi>
              {doc !== null && <span className="muted"> {doc}</span>}
            </Table.Th>
            <Table.Td data-label="Id" className="number">
              {id}
            </Table.Td>
            <Table.Td data-label="Type" className="long">
              <code>{type}</code>
            </Table.Td>
            <Table.Td data-label="Null">{required ? 'no' : 'yes'}</Table.Td>
          </Table.Tr>
        ))}
      </Rows>
      <dl className="differences">
        <div>
          <dt>Partitions</dt>
          <dd>
            {partitions.length === 0
              ? 'None. Readers skip files by the bounds of their columns.'
              : partitions.map(({ column, transform }) => by(transform, column)).join(', ')}
          </dd>
        </div>
        <div>
          <dt>Sort order</dt>
          <dd>
            {sort_order.length === 0
              ? 'None'
              : sort_order
                  .map(
                    ({ column, transform, direction }) => `${by(transform, column)} ${direction}`,
                  )
                  .join(', ')}
          </dd>
        </div>
      </dl>
    </>
  );
}

/** Returns a transform of a column in SQL: `bucket(16, distinct_id)`. */
function by(transform: string, column: string): string {
  if (transform === 'identity') return column;
  const [, name = transform, width] = /^(\w+)\[(\d+)\]$/.exec(transform) ?? [];
  return width === undefined ? `${name}(${column})` : `${name}(${width}, ${column})`;
}

/** Lists the table properties of its writers. */
export function Properties({
  table: { properties, table_uuid, format_version },
}: {
  table: LakeTableDetails;
}) {
  const entries = [
    ['format-version', String(format_version)],
    ['table-uuid', table_uuid],
    ...Object.entries(properties).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ] as [string, string][];
  return (
    <Rows columns={['Property', 'Value']}>
      {entries.map(([name, value]) => (
        <Table.Tr key={name}>
          <Table.Th scope="row">
            <code>{name}</code>
          </Table.Th>
          <Table.Td data-label="Value" className="long">
            <code>{value}</code>
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}
