import { lineage_fields } from './row_lineage.ts';
import { fieldsOf, integerBytes, readInteger, readList, readText, thrift } from './thrift.ts';
import type { Cursor } from './thrift.ts';

/** Numbers of fields in the footer of a Parquet file, by its specification. */
const footer = { schema: 2 };
const element = { name: 4, num_children: 5, field_id: 9 };

/**
 * Returns the footer of a Parquet file (without its length and magic) with the field id of each
 * column, by name. ClickHouse writes none, and readers such as DuckDB and Trino show every value of
 * a column without an id as null. All other bytes stay unchanged. Throws for a column without an id
 * and for nested columns, which our files do not have.
 */
export function withFieldIds(bytes: Buffer, ids: ReadonlyMap<string, number>): Buffer {
  const cursor: Cursor = { bytes, at: 0 };
  const parts: Buffer[] = [];
  let copied = 0;
  const insert = (at: number, added: Buffer, next: number) => {
    parts.push(bytes.subarray(copied, at), added);
    copied = next;
  };
  for (const { number, type } of fieldsOf(cursor)) {
    if (number !== footer.schema || type !== thrift.list) continue;
    const { length } = readList(cursor);
    for (let index = 0; index < length; index += 1) giveId(cursor, index === 0, ids, insert);
  }
  return Buffer.concat([...parts, bytes.subarray(copied)]);
}

/**
 * Fields are in the order of their numbers, and each stores the difference to the previous one. The
 * id is inserted before the first with a greater number, whose difference then shrinks.
 */
function giveId(
  cursor: Cursor,
  isRoot: boolean,
  ids: ReadonlyMap<string, number>,
  insert: (at: number, added: Buffer, next: number) => void,
): void {
  let before = 0;
  let name: string | undefined;
  let following: { from: number; to: number; head: Buffer } | undefined;
  for (const { number, type, from } of fieldsOf(cursor)) {
    if (number === element.name) name = readText(cursor);
    if (number === element.num_children && readInteger(cursor) > 0 && !isRoot)
      throw new Error('A nested column of a Parquet file has no place in a table.');
    if (number === element.field_id) throw new Error('The Parquet file has field ids already.');
    if (number < element.field_id) before = number;
    else
      following ??= {
        from,
        to: cursor.at,
        head: Buffer.from([((number - element.field_id) << 4) | type]),
      };
  }
  if (isRoot) return;
  const id = ids.get(name ?? '') ?? lineage_fields.find((field) => field.name === name)?.id;
  if (id === undefined) throw new Error(`The table has no column "${name}".`);
  const added = Buffer.concat([
    Buffer.from([((element.field_id - before) << 4) | thrift.i32]),
    integerBytes(id),
    following?.head ?? Buffer.alloc(0),
  ]);
  // If no field follows, the id is inserted before the byte that ends the struct.
  const end = cursor.at - 1;
  insert(following?.from ?? end, added, following?.to ?? end);
}
