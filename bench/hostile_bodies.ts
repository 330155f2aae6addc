import { gzipSync } from 'node:zlib';
import { openRandom } from '../test/chaos/random.ts';
import type { Operation, Schema } from '../test/fuzz/operations.ts';
import { makeValue } from '../test/fuzz/values.ts';

/** A body that is meant to keep a server busy. */
export type HostileBody = { shape: string; bytes: Buffer; headers: Record<string, string> };

const json = { 'content-type': 'application/json' };
const lines = { 'content-type': 'application/x-ndjson' };
/** Just below the number of values that a body may hold, so that all of it is looked at. */
const values = 9_900;

function repeated(part: string, bytes: number, before: string, after: string): Buffer {
  const times = Math.floor((bytes - before.length - after.length) / Buffer.byteLength(part));
  return Buffer.from(`${before}${part.repeat(times)}${after}`);
}

function keysOf(count: number, bytes_max: number, value: string): string {
  const parts: string[] = [];
  let bytes = 0;
  for (let index = 0; index < count && bytes < bytes_max - 40; index += 1) {
    parts.push(`"${index.toString(36)}":${value}`);
    bytes += parts.at(-1)!.length + 1;
  }
  return `{${parts.join(',')}}`;
}

/** Bodies of every shape for a route that takes so many bytes of JSON, whatever its schema says. */
export function plainBodies(bytes: number): HostileBody[] {
  const shapes: [string, Buffer][] = [
    ['numbers', repeated('1,', bytes, '[', '1]')],
    ['long numbers', repeated('1234567890123456789e-300,', bytes, '[', '1]')],
    ['keys', Buffer.from(keysOf(Infinity, bytes, '1'))],
    ['empty lists', repeated('[],', bytes, '[', '1]')],
    ['empty objects', repeated('{},', bytes, '[', '1]')],
    ['texts', repeated('"a",', bytes, '[', '1]')],
    ['half surrogates', repeated('"\\ud800",', bytes, '[', '1]')],
    ['depth', repeated('[', bytes, '', '')],
    ['one long text', repeated('a', bytes, '{"name":"', '"}')],
    ['one text of escapes', repeated('\\u00e9', bytes, '{"name":"', '"}')],
    ['one text of Chinese', repeated('漢', bytes, '{"name":"', '"}')],
    ['9,900 keys', Buffer.from(keysOf(values, bytes, '1'))],
    ['9,900 half surrogates', Buffer.from(`{"name":[${'"\\ud800",'.repeat(values)}1]}`)],
  ];
  return shapes.map(([shape, body]) => ({ shape, bytes: body, headers: json }));
}

/**
 * Bodies that fit the route but for one field, which is as large as may be: a text, a list, an
 * object.
 */
export function fieldBodies(
  operation: Operation,
  resolve: (ref: string) => Schema,
  bytes: number,
): HostileBody[] {
  const schema = operation.body ?? {};
  const making = { random: openRandom(1, 1), wrong: 0, resolve, known: () => undefined };
  const right = makeValue(making, { ...schema, required: Object.keys(schema.properties ?? {}) });
  if (typeof right !== 'object' || right === null) return [];
  const room = bytes - Buffer.byteLength(JSON.stringify(right)) - 100;
  const fillings: [string, string][] = [
    ['long text', `"${'a'.repeat(room)}"`],
    ['long text of (', `"${'('.repeat(room)}"`],
    ['long text of blanks', `"${' '.repeat(room - 1)}x"`],
    ['9,900 numbers', `[${'1,'.repeat(values - 1)}1]`],
    ['9,900 texts', `[${'"a b@c.example",'.repeat(values - 1)}1]`],
    ['9,000 objects', `[${'{},'.repeat(4_500)}1]`],
    ['9,900 keys', keysOf(values, room, '1')],
  ];
  return Object.keys(schema.properties ?? {}).flatMap((name) =>
    fillings.map(([filling, text]) => ({
      shape: `${name}: ${filling}`,
      headers: json,
      bytes: Buffer.from(
        JSON.stringify({ ...right, [name]: '<here>' }).replace('"<here>"', () => text),
      ),
    })),
  );
}

/** Bodies for the route that takes events: JSON of the size, and lines. */
export function eventBodies(bytes: number): HostileBody[] {
  const event = (properties: string) =>
    `{"event":"e","distinct_id":"d","properties":${properties}}`;
  const half = bytes / 2 - 1_000;
  const set = keysOf(Infinity, half, '1');
  const small = event('{"a":1}');
  const packed = (text: string) => ({
    bytes: gzipSync(text),
    gzip: { 'content-encoding': 'gzip' },
  });
  const blank = packed('\n'.repeat(200 * 1024 * 1024));
  const numbers = packed(`{"events":[${'1,'.repeat(bytes / 2 - 20)}1]}`);
  const asJson: [string, string][] = [
    ['events that are numbers', `{"events":[${'1,'.repeat(bytes / 2 - 20)}1]}`],
    ['events that are empty', `{"events":[${'{},'.repeat(bytes / 3 - 20)}1]}`],
    ['small events', `{"events":[${`${small},`.repeat(bytes / (small.length + 1) - 2)}${small}]}`],
    ['one event of numbers', `{"events":[${event(`{"a":[${'1,'.repeat(half / 2)}1]}`)}]}`],
    ['one event of keys', `{"events":[${event(set)}]}`],
    ['one event of $set', `{"events":[${event(`{"$set":${set}}`)}]}`],
    [
      'events of 9,000 keys in $set',
      `{"events":[${Array(100)
        .fill(event(`{"$set":${keysOf(9_000, half, '1')}}`))
        .join(',')}]}`,
    ],
    ['keys beside events', `{"events":[],"junk":${keysOf(Infinity, bytes - 100, '1')}}`],
  ];
  const asLines: [string, string][] = [
    ['lines: numbers', '1\n'.repeat(bytes / 2)],
    ['lines: one of numbers', `[${'1,'.repeat(bytes / 2 - 10)}1]`],
    ['lines: small events', `${small}\n`.repeat(bytes / (small.length + 1))],
    ['lines: long events', `${event(`{"a":"${'x'.repeat(100_000)}"}`)}\n`.repeat(bytes / 100_100)],
  ];
  return [
    ...asJson.map(([shape, text]) => ({ shape, bytes: Buffer.from(text), headers: json })),
    ...asLines.map(([shape, text]) => ({ shape, bytes: Buffer.from(text), headers: lines })),
    { shape: 'gzip of numbers', bytes: numbers.bytes, headers: { ...json, ...numbers.gzip } },
    {
      shape: 'gzip of 200 MiB of blank lines',
      bytes: blank.bytes,
      headers: { ...lines, ...blank.gzip },
    },
  ];
}
