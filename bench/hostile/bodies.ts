import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { openRandom } from '../../test/chaos/random.ts';
import type { Operation, Schema } from '../../test/fuzz/operations.ts';
import { createValue } from '../../test/fuzz/values.ts';

/** A body that keeps a server busy; its bytes are created on demand. */
export type HostileBody = {
  shape: string;
  headers: Record<string, string>;
  bytes(): Uint8Array<ArrayBuffer>;
};

const json = { 'content-type': 'application/json' };
const lines = { 'content-type': 'application/x-ndjson' };
/** A little below the maximum number of values in a body, so that the server reads all of it. */
const values = 9_900;

function repeated(part: string, bytes: number, before: string, after: string): string {
  const times = Math.floor((bytes - before.length - after.length) / Buffer.byteLength(part));
  return `${before}${part.repeat(times)}${after}`;
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

/** Bodies of every shape with this many bytes of JSON, whatever the route's schema. */
export function plainBodies(bytes: number): HostileBody[] {
  const shapes: [string, () => string][] = [
    ['numbers', () => repeated('1,', bytes, '[', '1]')],
    ['long numbers', () => repeated('1234567890123456789e-300,', bytes, '[', '1]')],
    ['keys', () => keysOf(Infinity, bytes, '1')],
    ['empty lists', () => repeated('[],', bytes, '[', '1]')],
    ['empty objects', () => repeated('{},', bytes, '[', '1]')],
    ['texts', () => repeated('"a",', bytes, '[', '1]')],
    ['half surrogates', () => repeated('"\\ud800",', bytes, '[', '1]')],
    ['depth', () => repeated('[', bytes, '', '')],
    ['one long text', () => repeated('a', bytes, '{"name":"', '"}')],
    ['one text of escapes', () => repeated('\\u00e9', bytes, '{"name":"', '"}')],
    ['one text of Chinese', () => repeated('漢', bytes, '{"name":"', '"}')],
    ['9,900 keys', () => keysOf(values, bytes, '1')],
    ['9,900 half surrogates', () => `{"name":[${'"\\ud800",'.repeat(values)}1]}`],
  ];
  return shapes.map(([shape, text]) => bodyOf(shape, json, text));
}

function bodyOf(shape: string, headers: Record<string, string>, text: () => string): HostileBody {
  return { shape, headers, bytes: () => new TextEncoder().encode(text()) };
}

/** Bodies that are valid except for one very large field: a text, a list, an object. */
export function fieldBodies(
  operation: Operation,
  resolve: (ref: string) => Schema,
  bytes: number,
): HostileBody[] {
  const schema = operation.body ?? {};
  const making = { random: openRandom(1, 1), wrong: 0, resolve, known: () => undefined };
  const right = createValue(making, { ...schema, required: Object.keys(schema.properties ?? {}) });
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
    fillings.map(([filling, text]) =>
      bodyOf(`${name}: ${filling}`, json, () =>
        JSON.stringify({ ...right, [name]: '<here>' }).replace('"<here>"', () => text),
      ),
    ),
  );
}

/** Bodies for the route that ingests events: JSON of this size, and lines. */
export function eventBodies(bytes: number): HostileBody[] {
  let people = 0;
  // All events of a body have one person, who occurs in no other body.
  const event = (properties: string, person = `d${(people += 1)}`) =>
    `{"event":"e","distinct_id":"${person}","properties":${properties}}`;
  const half = bytes / 2 - 1_000;
  const set = () => keysOf(Infinity, half, '1');
  const filled = (one: string, between: string, room: number) =>
    Array(Math.floor(room / (one.length + 1)))
      .fill(one)
      .join(between);
  const listOf = (events: string) => `{"events":[${events}]}`;
  const small = () => event('{"a":1}');
  const asJson: [string, () => string][] = [
    ['events that are numbers', () => listOf(filled('1', ',', bytes - 40))],
    ['events that are empty', () => listOf(filled('{}', ',', bytes - 60))],
    ['small events', () => listOf(filled(small(), ',', bytes - 100))],
    ['one event of numbers', () => listOf(event(`{"a":[${filled('1', ',', half)}]}`))],
    ['one event of keys', () => listOf(event(set()))],
    ['one event of $set', () => listOf(event(`{"$set":${set()}}`))],
    ['one event of one text', () => listOf(event(`{"a":"${'x'.repeat(half)}"}`))],
    ['one event of Chinese', () => listOf(event(`{"a":"${'漢'.repeat(half / 3)}"}`))],
    ['one event of quotes', () => listOf(event(`{"a":"${'\\"'.repeat(half / 2)}"}`))],
    [
      'one event of $elements_chain',
      () => listOf(event(`{"$elements_chain":"${'\\"'.repeat(half / 2)}"}`)),
    ],
    ['events of 9,000 keys in $set', () => listOf(filled(wide(), ',', bytes / 2))],
    ['keys beside events', () => `{"events":[],"junk":${keysOf(Infinity, bytes - 100, '1')}}`],
  ];
  const wide = () => event(`{"$set":${keysOf(9_000, half, '1')}}`);
  const asLines: [string, () => string][] = [
    ['lines: numbers', () => '1\n'.repeat(bytes / 2)],
    ['lines: one of numbers', () => `[${'1,'.repeat(bytes / 2 - 10)}1]`],
    ['lines: one event of $set', () => event(`{"$set":${set()}}`)],
    ['lines: small events', () => filled(small(), '\n', bytes)],
    ['lines: events of 60,000 keys', () => filled(event(keysOf(8_000, 60_000, '1')), '\n', bytes)],
    ['lines: long events', () => filled(event(`{"a":"${'x'.repeat(100_000)}"}`), '\n', bytes)],
    ['lines: events of 9,000 keys in $set', () => filled(wide(), '\n', bytes)],
  ];
  const packed = { 'content-encoding': 'gzip' };
  return [
    bodyOf('small events and an Idempotency-Key', { ...json, 'idempotency-key': '' }, () =>
      listOf(filled(small(), ',', bytes - 100)),
    ),
    ...asJson.map(([shape, text]) => bodyOf(shape, json, text)),
    ...asLines.map(([shape, text]) => bodyOf(shape, lines, text)),
    {
      shape: 'gzip of numbers',
      headers: { ...json, ...packed },
      bytes: () => new Uint8Array(gzipSync(listOf(filled('1', ',', bytes - 40)))),
    },
    {
      shape: 'gzip of 200 MiB of blank lines',
      headers: { ...lines, ...packed },
      bytes: () => new Uint8Array(gzipSync('\n'.repeat(200 * 1024 * 1024))),
    },
  ];
}

/** Most stored events of a body, because the bench measures reading. */
const stored_max = 20_000;

/** Bodies for the capture endpoints, in the formats of the SDKs. */
export function doorBodies(bytes: number): HostileBody[] {
  const listed = (one: string, count = Math.floor((bytes - 60) / (one.length + 1))) =>
    `{"batch":[${Array(count).fill(one).join(',')}]}`;
  const event = (properties: string) =>
    `{"type":"track","event":"e","distinct_id":"d","userId":"d","properties":${properties}}`;
  const half = bytes / 2 - 1_000;
  const plain: [string, () => string][] = [
    ['a million empty events', () => listed('{}', 1_000_000)],
    ['events that are numbers', () => listed('1')],
    ['small events', () => listed(event('{"a":1}'), stored_max)],
    ['one event of numbers', () => listed(event(`{"a":[${'1,'.repeat(half / 2)}1]}`), 1)],
    ['one event of keys', () => listed(event(keysOf(Infinity, half, '1')), 1)],
    ['one event of one text', () => listed(event(`{"a":"${'x'.repeat(1_900_000)}"}`), 1)],
    [
      'prototype keys',
      () => listed(event('{"__proto__":{"a":1},"constructor":{"b":[]}}'), stored_max),
    ],
    [
      'huge numbers',
      () => listed(event(`{"a":${'9'.repeat(400)},"b":1e999,"c":-1e-999}`), stored_max),
    ],
    [
      'a form of base64',
      () => `data=${Buffer.from(listed(event('{}'), 5_000)).toString('base64')}`,
    ],
  ];
  const packed: [string, (text: Buffer) => Buffer][] = [
    ['gzip', gzipSync],
    ['zlib', deflateSync],
    ['zstd', zstdCompressSync],
    ['br', brotliCompressSync],
  ];
  return [
    ...plain.map(([shape, text]) => bodyOf(shape, json, text)),
    ...packed.flatMap(([name, pack]) =>
      (
        [
          ['a bomb', () => Buffer.alloc(200 * 1024 * 1024, ' ')],
          ['as many numbers as fit', () => Buffer.from(listed('1'))],
        ] as const
      ).map(([shape, content]) => ({
        shape: `${name}: ${shape}`,
        headers: { ...json, 'content-encoding': name },
        bytes: () => new Uint8Array(pack(content())),
      })),
    ),
  ];
}
