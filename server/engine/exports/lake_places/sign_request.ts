import type { S3Place } from '../../destinations/object_store/s3_place.ts';
import {
  amzDate,
  authorizationOf,
  canonicalQuery,
  sha256,
  uriEncoded,
} from '../../destinations/object_store/sign_v4.ts';
import { LakeRefused, badRequest } from '../../model/lake_catalog/refusal.ts';
import { deletedKeys } from './deleted_keys.ts';
import type { Rights, Signable } from './lake_place.ts';

const reading = new Set(['GET', 'HEAD']);
const writing = new Set([...reading, 'PUT', 'POST', 'DELETE']);
/**
 * Headers of S3 that are signed, except copies, which read another object, and grants, which show
 * this one to others.
 */
const taken = new RegExp(
  '^x-amz-(?:content-sha256|date|checksum-[\\w-]+|sdk-[\\w-]+|server-side-encryption[\\w-]*|' +
    'meta-[\\w-]+|decoded-content-length|trailer|user-agent|storage-class|te)$',
);
/** Headers that a proxy may change; they stay unsigned. */
const unsigned = new Set([
  'authorization',
  'connection',
  'expect',
  'user-agent',
  'x-amzn-trace-id',
]);

/**
 * Returns the headers of a request to S3 with its signature (SigV4) by the credentials of the
 * place. Throws 403 for a request outside the objects below `key`, or for a write without the right
 * to write.
 */
export function signedHeaders(
  place: S3Place,
  { key, rights }: { key: string; rights: Rights },
  asked: Signable,
  now: Date,
): Record<string, string[]> {
  const method = asked.method.toUpperCase();
  if (!URL.canParse(asked.uri)) throw badRequest('uri must be a URL.');
  const url = new URL(asked.uri);
  const path = pathInBucket(place, url);
  if (!(rights === 'write' ? writing : reading).has(method))
    throw refused(`${method} needs the right to write the table.`);
  const foreign = Object.keys(asked.headers)
    .map((name) => name.toLowerCase())
    .find((name) => name.startsWith('x-amz-') && !unsigned.has(name) && !taken.test(name));
  if (foreign !== undefined) throw refused(`The header ${foreign} is not signed.`);
  const is_deleting = method === 'POST' && path === '' && isDeletion(url);
  if (!(is_deleting ? deletesOfTable(asked, key) : isOfTable(path, url, method, key)))
    throw refused('The request is not for a file of the table.');
  // The signature covers exactly this body.
  const headers = is_deleting
    ? { ...withoutHash(asked.headers), 'x-amz-content-sha256': [sha256(asked.body!)] }
    : asked.headers;
  return sign(place, { ...asked, headers, method }, url, now);
}

/**
 * Returns the key in the bucket, for a URL of either style. Throws 403 for another host or bucket.
 */
function pathInBucket(place: S3Place, url: URL): string {
  const { bucket_name: bucket, region, endpoint_url } = place;
  const home = new URL(endpoint_url || `https://s3.${region}.amazonaws.com`);
  const hosts = endpoint_url ? [home.host] : [home.host, 's3.amazonaws.com'];
  const path = decodeURIComponent(url.pathname);
  const same_scheme = url.protocol === home.protocol || !endpoint_url;
  if (same_scheme && hosts.some((host) => url.host === `${bucket}.${host}`)) return path.slice(1);
  if (same_scheme && hosts.includes(url.host) && `${path}/`.startsWith(`/${bucket}/`))
    return path.slice(bucket.length + 2);
  throw refused('The request is not for the bucket of the table.');
}

/** Returns true if the request deletes the objects that its body names. */
function isDeletion({ searchParams }: URL): boolean {
  return [...searchParams.keys()].join() === 'delete' && searchParams.get('delete') === '';
}

function deletesOfTable({ body }: Signable, key: string): boolean {
  return (
    body !== undefined &&
    deletedKeys(body).every((one) => one.startsWith(`${key}/`) && !hasDots(one))
  );
}

function withoutHash(headers: Signable['headers']): Signable['headers'] {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'x-amz-content-sha256'),
  );
}

function hasDots(path: string): boolean {
  return path.split('/').some((part) => part === '..' || part === '.');
}

function isOfTable(path: string, { searchParams }: URL, method: string, key: string): boolean {
  if (hasDots(path)) return false;
  if (path.startsWith(`${key}/`)) return ![...searchParams.keys()].some((one) => one === 'acl');
  // Only a list of names is allowed; other requests on the bucket reach beyond the table.
  const prefix = searchParams.get('prefix') ?? '';
  const plain = ['list-type', 'prefix', 'delimiter', 'max-keys', 'continuation-token'];
  const others = ['encoding-type', 'fetch-owner', 'start-after', 'marker', 'x-id'];
  return (
    path === '' &&
    method === 'GET' &&
    prefix.startsWith(`${key}/`) &&
    [...searchParams.keys()].every((one) => plain.includes(one) || others.includes(one))
  );
}

function sign(
  place: S3Place,
  { method, headers, region }: Signable,
  url: URL,
  now: Date,
): Record<string, string[]> {
  const given = Object.entries(headers)
    .map(([name, values]): [string, string[]] => [name.toLowerCase(), values])
    .filter(([name]) => !unsigned.has(name));
  const sent = new Map(given);
  const body_hash = sent.get('x-amz-content-sha256')?.[0] ?? 'UNSIGNED-PAYLOAD';
  sent.set('host', [url.host]);
  sent.set('x-amz-date', [amzDate(now)]);
  sent.set('x-amz-content-sha256', [body_hash]);
  const path = url.pathname.split('/').map((part) => uriEncoded(decodeURIComponent(part)));
  const signed = [...sent].map(([name, values]): [string, string] => [
    name,
    values.map((one) => one.trim()).join(','),
  ]);
  const authorization = authorizationOf(
    {
      method,
      path: path.join('/'),
      query: canonicalQuery(url),
      headers: Object.fromEntries(signed),
      body_hash,
    },
    {
      accessKeyId: place.aws_access_key_id!,
      secretAccessKey: place.aws_secret_access_key!,
    },
    { region: region || place.region, service: 's3' },
  );
  // Clients set the host header themselves.
  if (!given.some(([name]) => name === 'host')) sent.delete('host');
  return {
    ...Object.fromEntries(sent),
    authorization: [authorization],
  };
}

function refused(message: string): LakeRefused {
  return new LakeRefused('ForbiddenException', message);
}
