import { thrift } from '../thrift.ts';

/**
 * A value of Thrift: a number has 32 bits, a bigint 64, and neither is negative; an object is a
 * struct with its fields by number.
 */
export type Value = number | bigint | string | Value[] | { [field: number]: Value };

const long = 6;

/** Returns a struct in Thrift's compact protocol. */
export function structBytes(fields: { [field: number]: Value }): Buffer {
  const parts: Buffer[] = [];
  let before = 0;
  // Numeric keys are iterated in ascending order.
  for (const [key, value] of Object.entries(fields)) {
    const number = Number(key);
    parts.push(Buffer.from([((number - before) << 4) | typeOf(value)]), bytesOf(value));
    before = number;
  }
  return Buffer.concat([...parts, Buffer.from([0])]);
}

/** Returns a length with seven bits per byte. */
export function lengthBytes(length: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(length);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

function typeOf(value: Value): number {
  if (typeof value === 'number') return thrift.i32;
  if (typeof value === 'bigint') return long;
  if (typeof value === 'string') return thrift.text;
  return Array.isArray(value) ? thrift.list : thrift.struct;
}

function bytesOf(value: Value): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([lengthBytes(Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) {
    const type = value.length === 0 ? thrift.i32 : typeOf(value[0]!);
    const head = value.length < 15 ? [(value.length << 4) | type] : [0xf0 | type];
    const length = value.length < 15 ? [] : [lengthBytes(value.length)];
    return Buffer.concat([Buffer.from(head), ...length, ...value.map(bytesOf)]);
  }
  // The lowest bit is the sign.
  return typeof value === 'object' ? structBytes(value) : lengthBytes(BigInt(value) * 2n);
}
