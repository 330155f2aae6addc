import { createHash, createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenLocally } from '../loopback.ts';

/** A store that speaks S3, on 127.0.0.1. */
export type S3Server = {
  endpoint: string;
  access_key: string;
  secret_key: string;
  /** Requests that the store has seen, as `PUT /bucket/key?query`. */
  requests: string[];
  /** The encryption that each of these requests asked for, undefined for none. */
  encryptions: (string | undefined)[];
  /**
   * Answers the next request that matches with this status and S3 error code instead of passing it
   * on.
   */
  failNext(pattern: RegExp, status: number, code: string): void;
  /** Never answers the next request that matches. */
  holdNext(pattern: RegExp): void;
  /** Breaks the connection of the next request that matches, in the middle of its bytes. */
  dropNext(pattern: RegExp): void;
  /** Open uploads of a bucket, as keys. */
  openUploads(bucket: string): string[];
  close(): Promise<void>;
};

/**
 * Gives this process the credentials of the store, as an operator gives them to a server: in
 * variables that the AWS SDK knows.
 */
export function setEnvironmentCredentials({ access_key, secret_key }: S3Server): void {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: access_key, AWS_SECRET_ACCESS_KEY: secret_key });
}

type S3Rver = { run(): Promise<AddressInfo>; close(): Promise<void> };
type Failure = { pattern: RegExp; status: number; code: string };

/** Statuses that stand for no answer at all, and for a connection that breaks. */
const held = 0;
const dropped = -1;

const access_key = 'AKIATHATONLYTESTSHAVE';
const secret_key = 'a-secret-that-only-tests-have';

/**
 * Starts `s3rver` behind a front that adds what it lacks: it checks signatures (s3rver takes any
 * secret), and it knows ListMultipartUploads, ListParts, AbortMultipartUpload and the error of an
 * upload that is gone, all over s3rver's own folder of uploads.
 */
export async function openS3Server(buckets: string[]): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-s3-'));
  const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Rver;
  const rver = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: buckets.map((name) => ({ name, configs: [] })),
  });
  const { port } = await rver.run();
  const failures: Failure[] = [];
  const requests: string[] = [];
  const encryptions: (string | undefined)[] = [];
  const front = http.createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    encryptions.push(request.headers['x-amz-server-side-encryption'] as string | undefined);
    const failure = failures.findIndex(({ pattern }) =>
      pattern.test(`${request.method} ${request.url}`),
    );
    const found = failures[failure];
    if (found !== undefined) {
      failures.splice(failure, 1);
      if (found.status === held) return void request.resume();
      if (found.status === dropped) return dropHalfway(request);
      return refuse(request, response, found.status, found.code);
    }
    const problem = signatureProblem(request);
    if (problem !== undefined) return refuse(request, response, 403, problem);
    const answer = answerUploads(directory, request);
    if (answer !== undefined)
      return void response
        .writeHead(answer.status, { 'content-type': 'application/xml' })
        .end(answer.body);
    forward(request, response, port);
  });
  const { port: front_port, close } = await listenLocally(front);
  return {
    endpoint: `http://127.0.0.1:${front_port}`,
    access_key,
    secret_key,
    requests,
    encryptions,
    failNext: (pattern, status, code) => void failures.push({ pattern, status, code }),
    holdNext: (pattern) => void failures.push({ pattern, status: held, code: '' }),
    dropNext: (pattern) => void failures.push({ pattern, status: dropped, code: '' }),
    openUploads: (bucket) => uploadsOf(directory, bucket).map((upload) => upload.key),
    close: async () => {
      await close();
      await rver.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function dropHalfway(request: http.IncomingMessage): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes >= Number(request.headers['content-length']) / 2) request.destroy();
  });
}

function refuse(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  status: number,
  code: string,
): void {
  request.resume();
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(request.method === 'HEAD' ? undefined : errorBody(code));
}

const errorBody = (code: string) =>
  '<?xml version="1.0" ' +
  `encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;

/** AWS Signature Version 4 over the request as it came in. */
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
 * s3rver checks a signature of its own known secret: it is left out, so that it takes the request
 * as an anonymous one.
 */
function forward(request: http.IncomingMessage, response: http.ServerResponse, port: number): void {
  const { authorization: _authorization, ...headers } = request.headers;
  const onward = http.request(
    { host: '127.0.0.1', port, method: request.method, path: request.url, headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

type Upload = { id: string; key: string; folder: string };

function uploadsOf(directory: string, bucket: string): Upload[] {
  const folder = join(directory, bucket, '._S3rver_uploads');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((id) => ({
    id,
    key: readFileSync(join(folder, id, 'key'), 'utf8'),
    folder: join(folder, id),
  }));
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
