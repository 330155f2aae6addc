/** A position in bytes of Thrift's compact protocol. */
export type Cursor = { bytes: Buffer; at: number };

/** The numbers of the protocol's field types. */
export const thrift = { i32: 5, text: 8, list: 9, struct: 12 } as const;

/** A field of a struct: its number, its type, and where its header begins. */
export type Field = { number: number; type: number; from: number };

/**
 * Yields the fields of a struct, with the cursor at each value; skips the part of a value that the
 * caller has not read. Afterwards the cursor is after the struct.
 */
export function* fieldsOf(cursor: Cursor): Generator<Field> {
  let number = 0;
  for (;;) {
    const from = cursor.at;
    const head = byte(cursor);
    if (head === 0) return;
    number = head >> 4 === 0 ? readInteger(cursor) : number + (head >> 4);
    const field = { number, type: head & 15, from };
    const value = cursor.at;
    yield field;
    if (cursor.at === value) skip(cursor, field.type);
  }
}

/** Reads the head of a list: the number of its items and their type. */
export function readList(cursor: Cursor): { length: number; type: number } {
  const head = byte(cursor);
  return { length: head >> 4 === 15 ? readLength(cursor) : head >> 4, type: head & 15 };
}

/** Reads an integer of 16, 32 or 64 bits. */
export function readInteger(cursor: Cursor): number {
  const length = readLength(cursor);
  return length % 2 === 0 ? length / 2 : -(length + 1) / 2;
}

/** Reads a text. */
export function readText(cursor: Cursor): string {
  const length = readLength(cursor);
  cursor.at += length;
  if (cursor.at > cursor.bytes.length) throw damaged();
  return cursor.bytes.toString('utf8', cursor.at - length, cursor.at);
}

/** Returns the bytes of an integer that is not negative. */
export function integerBytes(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function skip(cursor: Cursor, type: number): void {
  if (type === 1 || type === 2) return;
  if (type === 3) cursor.at += 1;
  else if (type >= 4 && type <= 6) readLength(cursor);
  else if (type === 7) cursor.at += 8;
  else if (type === thrift.text) readText(cursor);
  else if (type === thrift.list || type === 10) {
    const list = readList(cursor);
    for (let item = 0; item < list.length; item += 1)
      // In a list, a boolean has its own byte.
      if (list.type <= 2) cursor.at += 1;
      else skip(cursor, list.type);
  } else if (type === thrift.struct) for (const _ of fieldsOf(cursor));
  else throw damaged();
  if (cursor.at > cursor.bytes.length) throw damaged();
}

function readLength(cursor: Cursor): number {
  let value = 0;
  for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
    const one = byte(cursor);
    value += (one & 127) * factor;
    if (one < 128) return value;
  }
  throw damaged();
}

function byte(cursor: Cursor): number {
  const value = cursor.bytes[cursor.at];
  if (value === undefined) throw damaged();
  cursor.at += 1;
  return value;
}

function damaged(): Error {
  return new Error('The footer of a Parquet file is damaged.');
}
