// A store that speaks S3, as a process of its own that may be killed at any moment. Like S3, it
// shows an object as a whole or not at all, and keeps what it has acknowledged. Arguments: folder,
// port. It knows one bucket, whatever its name, and no signatures. Says `ready` on standard output,
// and ends with its parent.
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';

const [folder = '', port = ''] = process.argv.slice(2);
const [objects, uploads, fresh] = ['objects', 'uploads', 'fresh'].map((name) =>
  join(folder, name),
) as [string, string, string];

type Asked = {
  method: string;
  key: string;
  query: URLSearchParams;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
};
type Answer = { status: number; headers?: Record<string, string>; body?: string | Buffer };
/** The facts in front of the bytes of an object, as one line of JSON. */
type Facts = Record<string, string>;

/** Shows a reader all of the object or nothing. */
function writeWhole(path: string, content: Buffer): void {
  const temporary = join(fresh, randomUUID());
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const xml = (text: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  body: text,
});
const missing = (code: string): Answer => ({
  status: 404,
  headers: { 'content-type': 'application/xml' },
  body: `<Error><Code>${code}</Code></Error>`,
});
const etagOf = (content: Buffer) => `"${createHash('md5').update(content).digest('hex')}"`;
const objectPath = (key: string) => join(objects, encodeURIComponent(key));
const factsOf = (headers: http.IncomingHttpHeaders): Facts =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-')) as [
      string,
      string,
    ][],
  );

function putObject(key: string, facts: Facts, content: Buffer): void {
  writeWhole(objectPath(key), Buffer.concat([Buffer.from(`${JSON.stringify(facts)}\n`), content]));
}

function getObject({ method, key }: Asked): Answer {
  if (!existsSync(objectPath(key))) return missing('NoSuchKey');
  const stored = readFileSync(objectPath(key));
  const end = stored.indexOf('\n');
  const content = stored.subarray(end + 1);
  const headers = {
    ...(JSON.parse(stored.subarray(0, end).toString()) as Facts),
    'content-length': String(content.length),
    etag: etagOf(content),
  };
  return method === 'HEAD' ? { status: 200, headers } : { status: 200, headers, body: content };
}

function listObjects({ query }: Asked): Answer {
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter')];
  const keys = readdirSync(objects)
    .map((name) => decodeURIComponent(name))
    .filter(
      (key) =>
        key.startsWith(prefix) &&
        (delimiter === null || !key.slice(prefix.length).includes(delimiter)),
    );
  const contents = keys.toSorted().map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`);
  return xml(
    `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`,
  );
}

function listUploads({ query }: Asked): Answer {
  const found = readdirSync(uploads).map((id) => ({ id, key: startOf(id)?.key }));
  const wanted = found.filter(({ key }) => key?.startsWith(query.get('prefix') ?? ''));
  const items = wanted.map(
    ({ id, key }) => `<Upload><Key>${escaped(key!)}</Key><UploadId>${id}</UploadId></Upload>`,
  );
  return xml(
    '<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>' +
      `${items.join('')}</ListMultipartUploadsResult>`,
  );
}

/** Returns the start of the upload; undefined without one, or if it ended while it was removed. */
function startOf(id: string): { key: string; facts: Facts } | undefined {
  const path = join(uploads, id, 'start');
  return existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as { key: string; facts: Facts })
    : undefined;
}

const partsOf = (id: string) =>
  readdirSync(join(uploads, id))
    .filter((name) => name !== 'start')
    .map(Number)
    .toSorted((one, other) => one - other);

function startUpload({ key, headers }: Asked): Answer {
  const id = randomUUID();
  mkdirSync(join(uploads, id));
  writeWhole(
    join(uploads, id, 'start'),
    Buffer.from(JSON.stringify({ key, facts: factsOf(headers) })),
  );
  return xml(
    `<InitiateMultipartUploadResult><Key>${escaped(key)}</Key>` +
      `<UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
  );
}

function endUpload(id: string): void {
  // The start is removed first: then the upload no longer exists, even if a kill leaves other
  // parts.
  rmSync(join(uploads, id, 'start'));
  rmSync(join(uploads, id), { recursive: true });
}

function answerUpload(asked: Asked, id: string): Answer {
  const start = startOf(id);
  if (start === undefined || start.key !== asked.key) return missing('NoSuchUpload');
  if (asked.method === 'DELETE') {
    endUpload(id);
    return { status: 204 };
  }
  if (asked.method === 'PUT') {
    writeWhole(join(uploads, id, asked.query.get('partNumber') ?? ''), asked.body);
    return { status: 200, headers: { etag: etagOf(asked.body) } };
  }
  const part = (number: number) => join(uploads, id, String(number));
  if (asked.method === 'GET') {
    const items = partsOf(id).map(
      (number) =>
        `<Part><PartNumber>${number}</PartNumber>` +
        `<ETag>${etagOf(readFileSync(part(number)))}</ETag>` +
        `<Size>${statSync(part(number)).size}</Size></Part>`,
    );
    return xml(
      `<ListPartsResult><IsTruncated>false</IsTruncated>${items.join('')}</ListPartsResult>`,
    );
  }
  const named = [...asked.body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(
    ([, number]) => Number(number),
  );
  putObject(
    asked.key,
    start.facts,
    Buffer.concat(named.map((number) => readFileSync(part(number)))),
  );
  endUpload(id);
  return xml(
    `<CompleteMultipartUploadResult><Key>${escaped(asked.key)}</Key>` +
      '</CompleteMultipartUploadResult>',
  );
}

function answer(asked: Asked): Answer {
  const { method, key, query } = asked;
  if (key === '')
    return method === 'HEAD'
      ? { status: 200 }
      : query.has('uploads')
        ? listUploads(asked)
        : listObjects(asked);
  if (method === 'POST' && query.has('uploads')) return startUpload(asked);
  const id = query.get('uploadId');
  if (id !== null) return answerUpload(asked, id);
  if (method === 'GET' || method === 'HEAD') return getObject(asked);
  if (method === 'DELETE') {
    rmSync(objectPath(key), { force: true });
    return { status: 204 };
  }
  putObject(key, factsOf(asked.headers), asked.body);
  return { status: 200, headers: { etag: etagOf(asked.body) } };
}

async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://host');
  const [, ...path] = decodeURIComponent(url.pathname).slice(1).split('/');
  const body = Buffer.concat(await request.toArray());
  const {
    status,
    headers,
    body: content,
  } = answer({
    method: request.method ?? '',
    key: path.join('/'),
    query: url.searchParams,
    headers: request.headers,
    body,
  });
  response.writeHead(status, headers).end(content);
}

for (const path of [objects, uploads, fresh]) mkdirSync(path, { recursive: true });
process.stdin.resume().on('end', () => process.exit());
const server = http.createServer(
  (request, response) => void serve(request, response).catch(() => response.destroy()),
);
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
