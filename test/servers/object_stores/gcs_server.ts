import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { isGrant } from '../google_grant.ts';
import { openFaultyServer } from '../faulty_server.ts';
import type { Refusal } from '../faulty_server.ts';
import type { FaultyServer } from '../faulty_server.ts';
import type { Outbound } from '../../../server/platform/outbound/outbound.ts';
import { Refused, bucketOf, page_size } from './gcs_store.ts';
import type { StoredObject, Bucket, Store, Answer } from './gcs_store.ts';
import { answerXml } from './gcs_uploads.ts';
import { own_keys } from '../../factories/people/rsa_keys.ts';

/** A store with the parts of Google Cloud Storage that exports use, on 127.0.0.1. */
export type GcsServer = FaultyServer & {
  /** The key file of its only account. */
  service_account_json: string;
  /** The objects of a bucket by their names; changing them changes the store. */
  objects(bucket: string): Map<string, StoredObject>;
  /** Names of the objects of open uploads. */
  openUploads(bucket: string): string[];
  /** The guard, which leads Google's token service here. */
  reroute(outbound: Outbound): Outbound;
};

const token_url = 'https://oauth2.googleapis.com/token';

/**
 * Starts one with empty buckets. It verifies signatures of key files, requires tokens, and returns
 * lists in pages of two.
 */
export async function openGcsServer(buckets: string[]): Promise<GcsServer> {
  const client_email = 'exports@test-project.iam.gserviceaccount.com';
  const store: Store = {
    buckets: new Map(buckets.map((name) => [name, { objects: new Map(), uploads: new Map() }])),
    tokens: new Set(),
    client_email,
    public_key: own_keys.publicKey,
  };
  const server = await openFaultyServer(
    (request, response) => void handle(store, request, response),
    refuse,
  );
  return {
    ...server,
    service_account_json: JSON.stringify({
      type: 'service_account',
      project_id: 'test-project',
      client_email,
      private_key: own_keys.private_pem,
      token_uri: token_url,
    }),
    objects: (bucket) => bucketOf(store, bucket).objects,
    openUploads: (bucket) =>
      [...bucketOf(store, bucket).uploads.values()].map((upload) => upload.key),
    reroute: (outbound) => rerouted(outbound, server.endpoint),
  };
}

/** The guard, which leads Google's token service to one of these servers. */
export function rerouted(outbound: Outbound, endpoint: string): Outbound {
  return {
    ...outbound,
    fetch: (url, init) =>
      outbound.fetch(String(url) === token_url ? `${endpoint}/token` : url, init),
  };
}

async function handle(
  store: Store,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  try {
    const { status, type, body, headers } = answer(store, request, await buffer(request));
    response
      .writeHead(status, { ...(type === undefined ? {} : { 'content-type': type }), ...headers })
      .end(body);
  } catch (error) {
    if (error instanceof Refused) refuse(request, response, error.status, error.code);
    else response.destroy();
  }
}

/** Each of the three services has its own form of errors. */
const refuse: Refusal = (request, response, status, code) => {
  const path = request.url ?? '';
  const isJson = path === '/token' || /^\/(upload\/)?storage\/v1\//.test(path);
  const json =
    path === '/token'
      ? { error: code, error_description: code }
      : { error: { code: status, message: code, errors: [{ reason: code }] } };
  const xml =
    `<?xml version='1.0' ` +
    `encoding='UTF-8'?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  response.writeHead(status, {
    'content-type': isJson ? 'application/json; charset=UTF-8' : 'application/xml; charset=UTF-8',
  });
  response.end(isJson ? JSON.stringify(json) : xml);
};

function answer(store: Store, request: http.IncomingMessage, body: Buffer): Answer {
  const url = new URL(request.url ?? '/', 'http://host');
  if (url.pathname === '/token') return grant(store, new URLSearchParams(body.toString()));
  if (!store.tokens.has(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '')) {
    throw new Refused(
      401,
      url.pathname.includes('/storage/v1/') ? 'authError' : 'AuthenticationRequired',
    );
  }
  const json = /^(\/upload)?\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname);
  if (json === null) return answerXml(store, request, url, body);
  const bucket = store.buckets.get(json[2] ?? '');
  if (bucket === undefined) throw new Refused(404, 'notFound');
  if (json[1] !== undefined) return putObject(bucket, url, request, body);
  return json[3] === undefined
    ? listObjects(bucket, url)
    : answerObject(bucket, decodeURIComponent(json[3]), request.method ?? '', url);
}

function grant(store: Store, form: URLSearchParams): Answer {
  const account = { public_key: store.public_key, client_email: store.client_email, token_url };
  if (!isGrant(form, account, /\/auth\//)) throw new Refused(400, 'invalid_grant');
  const access_token = `token-${randomUUID()}`;
  store.tokens.add(access_token);
  return {
    status: 200,
    type: 'application/json',
    body: JSON.stringify({ access_token, expires_in: 3600, token_type: 'Bearer' }),
  };
}

function putObject(bucket: Bucket, url: URL, request: http.IncomingMessage, bytes: Buffer): Answer {
  const name = url.searchParams.get('name') ?? '';
  if (url.searchParams.get('uploadType') !== 'media' || name === '')
    throw new Refused(400, 'invalid');
  if (url.searchParams.get('ifGenerationMatch') === '0' && bucket.objects.has(name))
    throw new Refused(412, 'conditionNotMet');
  bucket.objects.set(name, {
    bytes,
    content_type: String(request.headers['content-type']),
    metadata: {},
    updated: new Date().toISOString(),
  });
  return {
    status: 200,
    type: 'application/json',
    body: JSON.stringify({ name, size: String(bytes.length) }),
  };
}

function listObjects(bucket: Bucket, url: URL): Answer {
  const {
    prefix = '',
    delimiter,
    pageToken = '',
    startOffset = '',
  } = Object.fromEntries(url.searchParams) as Record<string, string>;
  const isDirect = (name: string) =>
    delimiter === undefined || !name.slice(prefix.length).includes(delimiter);
  const names = [...bucket.objects.keys()]
    .filter((name) => name.startsWith(prefix) && isDirect(name) && name > pageToken)
    .filter((name) => name >= startOffset)
    .sort();
  const page = names.slice(0, page_size);
  const more = names.length > page_size ? { nextPageToken: page.at(-1) } : {};
  return {
    status: 200,
    type: 'application/json',
    body: JSON.stringify({
      ...(page.length > 0
        ? { items: page.map((name) => ({ name, ...factsOf(bucket.objects.get(name)!) })) }
        : {}),
      ...more,
    }),
  };
}

function answerObject(bucket: Bucket, name: string, method: string, url: URL): Answer {
  const found = bucket.objects.get(name);
  if (found === undefined) throw new Refused(404, 'notFound');
  if (method === 'DELETE') {
    bucket.objects.delete(name);
    return { status: 204 };
  }
  if (url.searchParams.get('alt') === 'media')
    return { status: 200, type: found.content_type, body: found.bytes };
  return {
    status: 200,
    type: 'application/json',
    body: JSON.stringify(factsOf(found)),
  };
}

function factsOf({ bytes, metadata, updated }: StoredObject) {
  const generation = String(Date.parse(updated));
  return { size: String(bytes.length), metadata, updated, generation };
}
