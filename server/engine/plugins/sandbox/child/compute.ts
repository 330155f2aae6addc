import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { text_length_max } from '../limits.ts';

type Computation = (first: string, second: string, third: string) => string;

const encodings = [
  'utf8',
  'utf-8',
  'latin1',
  'binary',
  'base64',
  'base64url',
  'hex',
  'ascii',
  'utf16le',
];
const algorithms = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'ripemd160'];
const random_bytes_max = 65_536;
const url_length_max = 65_536;
const writable_parts = [
  'href',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
// Each name of a query becomes an object here, in the memory and on the thread of all plugins.
const query_length_max = 262_144;
const unpacking = { maxOutputLength: text_length_max };

// Bytes are texts with one character for each.
const bytes = (text: string) => Buffer.from(text, 'latin1');

const computations: Record<string, Computation> = {
  convert: (text, from, to) =>
    Buffer.from(text, oneOf(encodings, from) as BufferEncoding).toString(
      oneOf(encodings, to) as BufferEncoding,
    ),
  hash: (algorithm, data) =>
    createHash(oneOf(algorithms, algorithm)).update(bytes(data)).digest().toString('latin1'),
  hmac: (algorithm, data, key) =>
    createHmac(oneOf(algorithms, algorithm), bytes(key))
      .update(bytes(data))
      .digest()
      .toString('latin1'),
  random_bytes: (length) =>
    randomBytes(Math.min(Math.max(Math.trunc(Number(length)) || 0, 0), random_bytes_max)).toString(
      'latin1',
    ),
  random_uuid: () => randomUUID(),
  is_equal: (one, other) =>
    String(one.length === other.length && timingSafeEqual(bytes(one), bytes(other))),
  gzip: (data) => gzipSync(bytes(data)).toString('latin1'),
  gunzip: (data) => gunzipSync(bytes(data), unpacking).toString('latin1'),
  deflate: (data) => deflateSync(bytes(data)).toString('latin1'),
  inflate: (data) => inflateSync(bytes(data), unpacking).toString('latin1'),
  read_url: (url, base) =>
    describeUrl(new URL(shortUrl(url), base === '' ? undefined : shortUrl(base))),
  write_url: (url, part, value) => {
    const written = new URL(shortUrl(url));
    written[oneOf(writable_parts, part)] = shortUrl(value);
    return describeUrl(written);
  },
  read_query: (query) => JSON.stringify([...new URLSearchParams(shortQuery(query))]),
  write_query: (pairs) =>
    new URLSearchParams(JSON.parse(shortQuery(pairs)) as [string, string][]).toString(),
};

/**
 * Computes for the code in an isolate, which lacks such functions: text in, text out, no other
 * effect. Returns `=` and the result, or `!` and a sentence. Never throws, whatever the input.
 */
export function computeFor(name: unknown, ...inputs: unknown[]): string {
  const [first = '', second = '', third = ''] = inputs;
  if (
    typeof name !== 'string' ||
    typeof first !== 'string' ||
    typeof second !== 'string' ||
    typeof third !== 'string'
  )
    return '!Only texts can be given.';
  if (!Object.hasOwn(computations, name)) return '!There is no such function.';
  if (first.length + second.length + third.length > text_length_max)
    return `!More than ${text_length_max} characters were given: do it in parts.`;
  try {
    return `=${computations[name]!(first, second, third)}`;
  } catch (error) {
    return `!${(error as Error).message}`;
  }
}

function oneOf<Name extends string>(names: readonly Name[], name: string): Name {
  const known = names.find((candidate) => candidate === name);
  if (known === undefined)
    throw new RangeError(`${name.slice(0, 50)} is not known: use ${names.join(', ')}.`);
  return known;
}

function shortUrl(text: string): string {
  if (text.length > url_length_max)
    throw new RangeError(`The URL has more than ${url_length_max} characters.`);
  return text;
}

function shortQuery(text: string): string {
  if (text.length > query_length_max)
    throw new RangeError(`The query has more than ${query_length_max} characters.`);
  return text;
}

function describeUrl(url: URL): string {
  const parts = [...writable_parts, 'origin'] as const;
  return JSON.stringify(Object.fromEntries(parts.map((name) => [name, url[name]])));
}
