import type { ValueRow } from '../../../model/destination/content_source.ts';
import { damaged } from './avro_header.ts';
import { dayText, decimalText, decimal_places, instantText } from '../logical_text.ts';

/** The bytes of a block, and where the next value begins. */
type Cursor = { bytes: Buffer; at: number };

/** Reads a value as text. `is_quoted`: JSON needs quotes around it. */
type Reader = { read(cursor: Cursor): string | null; is_quoted?: true };

const depth_max = 10;

/**
 * Opens a reader of rows in a file with this schema: the values of these columns as text. Throws
 * for a schema that no export writes: types that refer to each other could recurse for ever.
 */
export function readAvroSchema(
  text: string,
  names: string[],
): (block: Buffer, rows: number) => Generator<ValueRow> {
  const schema = JSON.parse(text) as { type?: unknown; fields?: unknown };
  if (schema.type !== 'record' || !Array.isArray(schema.fields)) throw unknownSchema();
  const fields = (schema.fields as { name?: unknown; type?: unknown }[]).map(({ name, type }) => ({
    at: names.indexOf(String(name)),
    reader: readerOf(type, 0),
  }));
  return function* rowsOf(block, rows) {
    const cursor = { bytes: block, at: 0 };
    for (let row = 0; row < rows; row += 1) {
      const values: ValueRow = names.map(() => null);
      for (const { at, reader } of fields) {
        const value = reader.read(cursor);
        if (at >= 0) values[at] = value;
      }
      yield values;
    }
    if (cursor.at !== block.length) throw damaged();
  };
}

function unknownSchema(): Error {
  return new Error('The Avro file has a schema that no export writes.');
}

function readerOf(type: unknown, depth: number): Reader {
  if (depth > depth_max) throw unknownSchema();
  if (Array.isArray(type)) return unionOf(type, depth);
  const given = (typeof type === 'object' && type !== null ? type : { type }) as {
    type?: unknown;
    logicalType?: unknown;
    items?: unknown;
    values?: unknown;
    scale?: unknown;
  };
  switch (
    `${String(given.type)} ${typeof given.logicalType === 'string' ? given.logicalType : ''}`
  ) {
    case 'null ':
      return { read: () => null };
    case 'boolean ':
      return { read: (cursor) => String(take(cursor, 1)[0] === 1) };
    case 'long ':
    case 'int ':
      return { read: (cursor) => takeLong(cursor).toString() };
    case 'int date':
      return { read: (cursor) => dayText(Number(takeLong(cursor))), is_quoted: true };
    case 'long timestamp-micros':
      return { read: (cursor) => instantText(takeLong(cursor)), is_quoted: true };
    case 'double ':
      return { read: (cursor) => String(take(cursor, 8).readDoubleLE()) };
    case 'string ':
    case 'string uuid':
      return { read: (cursor) => takeBytes(cursor).toString(), is_quoted: true };
    case 'bytes decimal':
      if (given.scale !== decimal_places) throw unknownSchema();
      return { read: (cursor) => decimalText(takeBytes(cursor)) };
    case 'array ':
      return listOf(readerOf(given.items, depth + 1));
    case 'map ':
      return mapOf(readerOf(given.values, depth + 1));
    default:
      throw unknownSchema();
  }
}

function unionOf(types: unknown[], depth: number): Reader {
  const readers = types.map((one) => readerOf(one, depth + 1));
  return {
    read: (cursor) => {
      const reader = readers[Number(takeLong(cursor))];
      if (reader === undefined) throw damaged();
      return reader.read(cursor);
    },
    ...(readers.some((reader) => reader.is_quoted) ? { is_quoted: true as const } : {}),
  };
}

function listOf(item: Reader): Reader {
  return {
    read: (cursor) => `[${itemsOf(cursor, () => jsonOf(item, cursor)).join(',')}]`,
  };
}

function mapOf(value: Reader): Reader {
  const entry = (cursor: Cursor) =>
    `${JSON.stringify(takeBytes(cursor).toString())}:${jsonOf(value, cursor)}`;
  return { read: (cursor) => `{${itemsOf(cursor, () => entry(cursor)).join(',')}}` };
}

function jsonOf(reader: Reader, cursor: Cursor): string {
  const text = reader.read(cursor);
  if (text === null) return 'null';
  return reader.is_quoted === true ? JSON.stringify(text) : text;
}

/** Items come in blocks, each after its number; 0 is the end. */
function itemsOf(cursor: Cursor, read: () => string): string[] {
  const items: string[] = [];
  for (;;) {
    let count = Number(takeLong(cursor));
    if (count === 0) return items;
    // A negative number is followed by the length of the block.
    if (count < 0) {
      takeLong(cursor);
      count = -count;
    }
    for (let item = 0; item < count; item += 1) {
      const { at } = cursor;
      items.push(read());
      // Values without bytes could have any number.
      if (cursor.at === at) throw damaged();
    }
  }
}

function take(cursor: Cursor, length: number): Buffer {
  const end = cursor.at + length;
  if (!(length >= 0 && end <= cursor.bytes.length)) throw damaged();
  const taken = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return taken;
}

function takeBytes(cursor: Cursor): Buffer {
  return take(cursor, Number(takeLong(cursor)));
}

function takeLong(cursor: Cursor): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = take(cursor, 1)[0]!;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  }
  throw damaged();
}
