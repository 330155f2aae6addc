import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { capture_size_bytes_max } from '../../server/api/capture/read/unpack.ts';

/**
 * A body that no SDK sends, and its answer. `records`: it is a message only for OpenTelemetry,
 * without events or with a record that is refused on its own. `told`: each of its events is refused
 * on its own. Both get a 200 if the protocol reports the outcome of each event.
 */
export type HostileBody = {
  says: string;
  body: Buffer | string;
  headers?: Record<string, string>;
  wanted: 400 | 413 | 'told' | 'records';
};

const protobuf = { 'content-type': 'application/x-protobuf' };
const deep = '['.repeat(1_000_000);

function packedOften(): Buffer {
  let often: Buffer = Buffer.from('{}');
  for (let layer = 0; layer < 6; layer += 1) often = gzipSync(often);
  return often;
}

/** Cheap bodies, for every path. */
export const cheap_bodies: readonly HostileBody[] = [
  { says: 'nothing', body: '', wanted: 400 },
  { says: 'half a character', body: Buffer.from([0x7b, 0x22, 0xc3]), wanted: 400 },
  { says: 'only null', body: 'null', wanted: 400 },
  { says: 'a number', body: '1e999', wanted: 400 },
  { says: 'a picture', body: Buffer.from('GIF89a\0\0\xff', 'latin1'), wanted: 400 },
  { says: 'a list that does not end', body: '{"batch":[{"event":"x"},', wanted: 400 },
  { says: 'gzip that is cut off', body: gzipSync('{"batch":[]}').subarray(0, 20), wanted: 400 },
  { says: 'gzip of gzip of gzip', body: packedOften(), wanted: 400 },
  {
    says: 'a form of base64 that is none',
    body: 'data=%7B%22event%22&compression=base64',
    wanted: 400,
  },
  {
    says: 'prototype keys',
    body: '{"__proto__":{"batch":[]},"constructor":1,"batch":{"__proto__":[]}}',
    wanted: 400,
  },
  {
    says: 'prototype keys in an event',
    body:
      '{"batch":[{"__proto__":{"event":"x","distinct_id":"d"},"constructor":{"prototype":1},' +
      '"properties":{"__proto__":{"batch":1}}}]}',
    wanted: 'told',
  },
  {
    says: 'huge numbers',
    body: `{"batch":[{"timestamp":1e999,"offset":-1e308,"uuid":${'9'.repeat(400)}}]}`,
    wanted: 'told',
  },
  {
    says: 'a list of everything',
    body: '{"batch":[null,1,"",[],{},true],"data":[null,[],{}],"resourceLogs":[0],"resourceSpans":[0]}',
    wanted: 'told',
  },
  { says: 'broken protobuf', body: Buffer.alloc(2_000, 0xff), headers: protobuf, wanted: 400 },
];

/**
 * Long bodies, or ones that expand, for one path of each protocol, because all its paths parse
 * alike.
 */
export const heavy_bodies: readonly HostileBody[] = [
  { says: 'a million brackets', body: deep, wanted: 400 },
  {
    says: 'a million brackets inside',
    body: `{"batch":[{"event":"x","distinct_id":${deep}`,
    wanted: 400,
  },
  { says: 'deep protobuf', body: deepRecord(), headers: protobuf, wanted: 'records' },
  {
    says: 'thirty thousand empty events',
    body: `{"batch":[${'{},'.repeat(30_000)}{}]}`,
    wanted: 'told',
  },
  {
    says: 'a time of spaces',
    body: `{"sentAt":"2024${' '.repeat(60_000)}x","batch":[{}]}`,
    wanted: 'told',
  },
  {
    says: 'records that say more than a request may',
    body: records(1_000_000, 300),
    headers: protobuf,
    wanted: 400,
  },
  { says: 'three million records', body: records(10, 3_000_000), headers: protobuf, wanted: 400 },
  { says: 'two million lists', body: `[${'[],'.repeat(2_100_000)}[]]`, wanted: 400 },
  { says: 'a form of a megabyte', body: `data=${'A'.repeat(1024 * 1024)}`, wanted: 413 },
  ...bombs(),
];

/** Mostly a few kilobytes that expand beyond the limit of a body. */
function bombs(): HostileBody[] {
  const bomb = Buffer.alloc(capture_size_bytes_max + 1, ' ');
  return [
    { says: 'too long a body', body: bomb, wanted: 413 },
    { says: 'a bomb of gzip', body: gzipSync(bomb), wanted: 413 },
    { says: 'a bomb of zlib', body: deflateSync(bomb), wanted: 413 },
    { says: 'a bomb of zstd', body: zstdCompressSync(bomb), wanted: 413 },
    {
      says: 'a bomb of brotli',
      body: brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      headers: { 'content-encoding': 'br' },
      wanted: 413,
    },
    {
      says: 'a bomb of gzip in gzip in base64',
      body: gzipSync(gzipSync(bomb)).toString('base64'),
      wanted: 413,
    },
  ];
}

/** Returns `count` empty records, or spans, of a resource of that size, as protobuf writes them. */
export function records(resource_bytes: number, count: number): Buffer {
  const value = within(0x12, within(0x0a, Buffer.alloc(resource_bytes, 'x')));
  const attribute = within(0x0a, Buffer.concat([within(0x0a, Buffer.from('k')), value]));
  const resource = within(0x0a, attribute);
  const list = within(0x12, Buffer.alloc(count * 2, Buffer.from([0x12, 0])));
  return within(0x0a, Buffer.concat([resource, list]));
}

/** A field of the tag with the bytes. */
function within(tag: number, bytes: Buffer): Buffer {
  const length = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

/** A list within a list, a thousand levels deep, in protobuf. */
function deepRecord(): Buffer {
  const lists = Array.from({ length: 1_000 }, () => [0x0a, 0x2a]).flat();
  return [...lists, 0x2a, 0x12, 0x12, 0x0a].reduce<Buffer>(
    (value, tag) => within(tag, value),
    Buffer.alloc(0),
  );
}
