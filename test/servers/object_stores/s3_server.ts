import { createHash, createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFaultyServer } from '../faulty_server.ts';
import type { FaultyServer } from '../faulty_server.ts';

/** A store that speaks S3, on 127.0.0.1. */
export type S3Server = FaultyServer & {
  access_key: string;
  secret_key: string;
  /** Its requests with encryption by AES256. */
  encrypted: string[];
  /** Open uploads of a bucket, as keys. */
  openUploads(bucket: string): string[];
};

/**
 * Gives this process the credentials of the store, like an operator's server: in variables that the
 * AWS SDK reads.
 */
export function setEnvironmentCredentials({ access_key, secret_key }: S3Server): void {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: access_key, AWS_SECRET_ACCESS_KEY: secret_key });
}

type S3Rver = { run(): Promise<AddressInfo>; close(): Promise<void> };

const access_key = 'AKIATHATONLYTESTSHAVE';
const secret_key = 'a-secret-that-only-tests-have';

/**
 * Starts `s3rver` behind a proxy that adds missing parts. The proxy checks signatures (s3rver
 * accepts any secret), and implements ListMultipartUploads, ListParts, AbortMultipartUpload and the
 * error of a missing upload. All use s3rver's own folder of uploads. The bucket `locked` only
 * accepts bytes with their MD5, as AWS does with Object Lock. The bucket `overwrites` ignores
 * If-None-Match, as some stores do.
 */
export async function openS3Server(
  buckets: string[],
  { locked = '', overwrites = '' }: { locked?: string; overwrites?: string } = {},
): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-s3-'));
  const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Rver;
  const rver = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [...buckets, locked, overwrites]
      .filter(Boolean)
      .map((name) => ({ name, configs: [] })),
  });
  const { port } = await rver.run();
  const encrypted: string[] = [];
  const conditional = new Set<string>();
  const front = await openFaultyServer((request, response) => {
    if (request.headers['x-amz-server-side-encryption'] === 'AES256')
      encrypted.push(`${request.method} ${request.url}`);
    const problem = signatureProblem(request);
    if (problem !== undefined) return refuse(request, response, 403, problem);
    if (locked !== '' && isWithoutDigest(request, locked))
      return refuse(request, response, 400, 'InvalidRequest', needs_digest);
    if (isTaken(directory, request, conditional, overwrites))
      return refuse(request, response, 412, 'PreconditionFailed');
    const answer = answerUploads(directory, request);
    if (answer !== undefined)
      return void response
        .writeHead(answer.status, { 'content-type': 'application/xml' })
        .end(answer.body);
    forward(request, response, port);
  }, refuse);
  return {
    ...front,
    access_key,
    secret_key,
    encrypted,
    openUploads: (bucket) => uploadsOf(directory, bucket).map((upload) => upload.key),
    close: async () => {
      await front.close();
      await rver.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function refuse(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  status: number,
  code: string,
  message = code,
): void {
  request.resume();
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(request.method === 'HEAD' ? undefined : errorBody(code, message));
}

const errorBody = (code: string, message = code) =>
  '<?xml version="1.0" ' +
  `encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;

const needs_digest =
  'Content-MD5 OR x-amz-checksum- HTTP header is required for Put Part requests with Object Lock ' +
  'parameters';

function isWithoutDigest(request: http.IncomingMessage, bucket: string): boolean {
  return (
    request.method === 'PUT' &&
    String(request.url).startsWith(`/${bucket}/`) &&
    request.headers['content-md5'] === undefined
  );
}

/**
 * Returns true if an object has the name of a request that requires a new one. The first request in
 * progress reserves the name: `names` are the reserved ones.
 */
function isTaken(
  directory: string,
  { method, url = '', headers }: http.IncomingMessage,
  names: Set<string>,
  overwrites: string,
): boolean {
  const path = decodeURIComponent(new URL(url, 'http://host').pathname);
  if (method === 'DELETE') names.delete(path);
  if (method !== 'PUT' || headers['if-none-match'] !== '*') return false;
  if (overwrites !== '' && path.startsWith(`/${overwrites}/`)) return false;
  if (names.has(path) || existsSync(join(directory, `${path}._S3rver_object`))) return true;
  names.add(path);
  return false;
}

/** AWS Signature Version 4 over the received request. */
function signatureProblem(request: http.IncomingMessage): string | undefined {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (match === null) return 'AccessDenied';
  const [, key = '', day = '', region = '', names = '', signature = ''] = match;
  if (key !== access_key) return 'InvalidAccessKeyId';
  const url = new URL(request.url ?? '/', 'http://host');
  const escape = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const query = [...url.searchParams]
    .map(([name, value]) => `${escape(name)}=${escape(value)}`)
    .sort()
    .join('&');
  const headers = names
    .split(';')
    .map(
      (name) =>
        `${name}:${String(request.headers[name] ?? '')
          .trim()
          .replace(/\s+/g, ' ')}\n`,
    )
    .join('');
  const path = decodeURIComponent(url.pathname).split('/').map(escape).join('/');
  const canonical = [
    request.method,
    path,
    query,
    headers,
    names,
    String(request.headers['x-amz-content-sha256']),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = [
    'AWS4-HMAC-SHA256',
    String(request.headers['x-amz-date']),
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const sign = (secret: string | Buffer, data: string) =>
    createHmac('sha256', secret).update(data).digest();
  const signingKey = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    sign,
    `AWS4${secret_key}`,
  );
  return sign(signingKey, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
}

/**
 * Removed: s3rver checks a signature against its own known secret. Without it, s3rver accepts the
 * request as an anonymous one.
 */
function forward(request: http.IncomingMessage, response: http.ServerResponse, port: number): void {
  const { authorization: _authorization, ...headers } = request.headers;
  const onward = http.request(
    { host: '127.0.0.1', port, method: request.method, path: request.url, headers },
    (answer) => {
      if (isOtherDigest(request, answer)) return refuse(request, response, 400, 'BadDigest');
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

function isOtherDigest(request: http.IncomingMessage, answer: http.IncomingMessage): boolean {
  const digest = request.headers['content-md5'];
  return (
    typeof digest === 'string' &&
    answer.headers.etag !== `"${Buffer.from(digest, 'base64').toString('hex')}"`
  );
}

type Upload = { id: string; key: string; folder: string };

function uploadsOf(directory: string, bucket: string): Upload[] {
  const folder = join(directory, bucket, '._S3rver_uploads');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((id) => {
    try {
      const key = readFileSync(join(folder, id, 'key'), 'utf8');
      return [{ id, key, folder: join(folder, id) }];
    } catch {
      // It ends just now.
      return [];
    }
  });
}

function answerUploads(
  directory: string,
  request: http.IncomingMessage,
): { status: number; body: string } | undefined {
  const url = new URL(request.url ?? '/', 'http://host');
  const [bucket = '', ...rest] = decodeURIComponent(url.pathname).slice(1).split('/');
  const key = rest.join('/');
  const id = url.searchParams.get('uploadId');
  if (request.method === 'GET' && key === '' && url.searchParams.has('uploads')) {
    const prefix = url.searchParams.get('prefix') ?? '';
    const uploads = uploadsOf(directory, bucket).filter((upload) => upload.key.startsWith(prefix));
    const list = uploads
      .map((upload) => `<Upload><Key>${upload.key}</Key><UploadId>${upload.id}</UploadId></Upload>`)
      .join('');
    return {
      status: 200,
      body:
        '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>' +
        `${list}</ListMultipartUploadsResult>`,
    };
  }
  if (id === null) return undefined;
  const upload = uploadsOf(directory, bucket).find((one) => one.id === id && one.key === key);
  if (upload === undefined) {
    request.resume();
    return { status: 404, body: errorBody('NoSuchUpload') };
  }
  if (request.method === 'DELETE') {
    rmSync(upload.folder, { recursive: true });
    return { status: 204, body: '' };
  }
  if (request.method !== 'GET') return undefined;
  const numbers = readdirSync(upload.folder)
    .filter((name) => /^\d+$/.test(name))
    .sort((one, other) => Number(one) - Number(other));
  const parts = numbers.map((number) => {
    const etag = readFileSync(join(upload.folder, `${number}.md5`), 'utf8');
    const { size } = statSync(join(upload.folder, number));
    return (
      `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${etag}&quot;</ETag>` +
      `<Size>${size}</Size></Part>`
    );
  });
  return {
    status: 200,
    body: `<ListPartsResult><IsTruncated>false</IsTruncated>${parts.join('')}</ListPartsResult>`,
  };
}
