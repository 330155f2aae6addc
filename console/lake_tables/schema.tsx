import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { Rows } from '../page/tables/rows.tsx';

/** Lists the columns of a table with their field ids, its partitions and its sort order. */
export function Schema({ table }: { table: LakeTableDetails }) {
  const { columns, partitions, sort_order } = table;
  return (
    <>
      <Rows
        rows={columns}
        keyOf={({ id }) => id}
        columns={{
          Column: ({ name, doc }) => (
            <>
              <bdi>{name}</bdi>
              {doc !== null && <span className="muted"> {doc}</span>}
            </>
          ),
          Id: { number: ({ id }) => id },
          Type: { long: ({ type }) => <code>{type}</code> },
          Null: ({ required }) => (required ? 'no' : 'yes'),
        }}
      />
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
    <Rows
      rows={entries}
      keyOf={([name]) => name}
      columns={{
        Property: ([name]) => <code>{name}</code>,
        Value: { long: ([, value]) => <code>{value}</code> },
      }}
    />
  );
}
