import { createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type http from 'node:http';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import { BigQueryJobs, JobTaken } from './bigquery_jobs.ts';
import { JobFailure, typeName } from './bigquery_tables.ts';
import type { Field, StoredTable } from './bigquery_tables.ts';
import { openFaultyServer } from './faulty_server.ts';
import type { FaultyServer } from './faulty_server.ts';

/** The account that the server knows, as a config has it. */
export type BigQueryAccount = {
  project_id: string;
  private_key: string;
  private_key_id: string;
  token_uri: string;
  client_email: string;
};

/** A server that speaks the parts of BigQuery's REST API that exports use, on 127.0.0.1. */
export type BigQueryServer = FaultyServer & {
  account: BigQueryAccount;
  jobs: BigQueryJobs;
  /**
   * The tables of a dataset by their names; changing them changes the dataset. One that is not
   * there is made.
   */
  tables(dataset: string): Map<string, StoredTable>;
  /** Of the next piece of an upload only the first 256 KiB are kept. */
  takePartNext(): void;
  /**
   * Does what the next request that matches asks for, and breaks the connection instead of an
   * answer.
   */
  loseAnswerNext(pattern: RegExp): void;
  /** The guard, with the ways to Google led here. */
  reroute(outbound: Outbound): Outbound;
};

type Upload = { job: unknown; bytes: Buffer; ended: unknown };
type Store = {
  project: string;
  datasets: Map<string, Map<string, StoredTable>>;
  jobs: BigQueryJobs;
  uploads: Map<string, Upload>;
  tokens: Set<string>;
  account: BigQueryAccount;
  public_key: KeyObject;
  parts: number;
  lost: RegExp[];
};
type Answer = { status: number; body?: unknown; headers?: Record<string, string> };
type Asked = { request: http.IncomingMessage; url: URL; body: Buffer };

/** Thrown to answer with an error of the API. */
class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

const origin = 'https://bigquery.googleapis.com';
const token_uri = 'https://oauth2.googleapis.com/token';
const piece_bytes = 256 * 1024;
/** Small, so that whoever lists has to go through pages. */
const page_size = 2;

/**
 * Starts one with an empty project. Signatures are verified, tokens asked for, lists and results
 * come in pages of two.
 */
export async function openBigQueryServer(): Promise<BigQueryServer> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const project = 'test-project';
  const account = {
    project_id: project,
    private_key: keys.privateKey,
    private_key_id: 'key-1234567',
    token_uri,
    client_email: `exports@${project}.iam.gserviceaccount.com`,
  };
  const datasets: Store['datasets'] = new Map();
  const jobs = new BigQueryJobs(project, datasets, page_size);
  const store: Store = {
    project,
    datasets,
    jobs,
    uploads: new Map(),
    tokens: new Set(),
    account,
    public_key: createPublicKey(keys.publicKey),
    parts: 0,
    lost: [],
  };
  const server = await openFaultyServer(
    (request, response) => void handle(store, request, response),
    refuse,
  );
  return {
    ...server,
    account,
    jobs,
    tables: (dataset) => {
      if (!datasets.has(dataset)) datasets.set(dataset, new Map());
      return datasets.get(dataset)!;
    },
    takePartNext: () => void (store.parts += 1),
    loseAnswerNext: (pattern) => void store.lost.push(pattern),
    reroute: (outbound) => ({
      ...outbound,
      fetch: (url, init) =>
        outbound.fetch(
          String(url) === token_uri
            ? `${server.endpoint}/token`
            : String(url).replace(origin, server.endpoint),
          init,
        ),
    }),
  };
}

async function handle(
  store: Store,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { status, body, headers } = await answer(store, {
      request,
      url: new URL(request.url ?? '/', 'http://host'),
      body: Buffer.concat(chunks),
    });
    const lost = store.lost.findIndex((pattern) =>
      pattern.test(`${request.method} ${request.url}`),
    );
    if (lost !== -1) {
      store.lost.splice(lost, 1);
      response.destroy();
    } else
      response
        .writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers })
        .end(body === undefined ? '' : JSON.stringify(body));
  } catch (error) {
    if (error instanceof Refused)
      refuse(request, response, error.status, error.reason, error.message);
    else if (error instanceof JobTaken) refuse(request, response, 409, 'duplicate', error.message);
    else if (error instanceof JobFailure)
      refuse(
        request,
        response,
        error.reason === 'notFound' ? 404 : 400,
        error.reason,
        error.message,
      );
    else response.destroy();
  }
}

function refuse(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  status: number,
  reason: string,
  message = reason,
): void {
  const body =
    request.url === '/token'
      ? { error: reason, error_description: message }
      : { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } };
  response
    .writeHead(status, { 'content-type': 'application/json; charset=UTF-8' })
    .end(JSON.stringify(body));
}

async function answer(store: Store, asked: Asked): Promise<Answer> {
  const { request, url, body } = asked;
  if (url.pathname === '/token') return grant(store, new URLSearchParams(body.toString()));
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (!store.tokens.has(token))
    throw new Refused(401, 'authError', 'Request had invalid authentication credentials.');
  const [, isUpload, project, path = ''] =
    /^(\/upload)?\/bigquery\/v2\/projects\/([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
  if (decodeURIComponent(project ?? '') !== store.project)
    throw new Refused(404, 'notFound', `Not found: Project ${project}`);
  if (isUpload !== undefined)
    return request.method === 'POST' ? startUpload(store, body) : takePiece(store, asked);
  const [noun, id = '', detail, name] = path.split('/').map(decodeURIComponent);
  if (noun === 'datasets')
    return answerDataset(store, asked, id, detail === 'tables' ? name : undefined, detail);
  if (noun === 'jobs' && request.method === 'POST' && id === '')
    return { status: 200, body: await store.jobs.insert(JSON.parse(body.toString())) };
  if (url.searchParams.get('location') !== 'EU')
    throw new Refused(404, 'notFound', `Not found: Job ${store.project}:US.${id}`);
  if (noun === 'queries')
    return { status: 200, body: store.jobs.results(id, url.searchParams.get('pageToken')) };
  if (detail === 'cancel') store.jobs.cancel(id);
  return {
    status: 200,
    body: detail === 'cancel' ? { job: store.jobs.get(id) } : store.jobs.get(id),
  };
}

function grant(store: Store, form: URLSearchParams): Answer {
  const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
  const isSigned = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${claims}`),
    store.public_key,
    Buffer.from(signature, 'base64url'),
  );
  const { iss, aud, exp, scope } = JSON.parse(
    Buffer.from(claims, 'base64url').toString() || '{}',
  ) as Record<string, unknown>;
  const isRight =
    iss === store.account.client_email &&
    aud === token_uri &&
    Number(exp) * 1000 > Date.now() &&
    String(scope).endsWith('/auth/bigquery');
  if (
    form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer' ||
    !isSigned ||
    !isRight
  )
    throw new Refused(400, 'invalid_grant', 'Invalid JWT Signature.');
  const access_token = `token-${randomUUID()}`;
  store.tokens.add(access_token);
  return { status: 200, body: { access_token, expires_in: 3600, token_type: 'Bearer' } };
}

function startUpload(store: Store, body: Buffer): Answer {
  const id = randomUUID();
  store.uploads.set(id, {
    job: JSON.parse(body.toString()),
    bytes: Buffer.alloc(0),
    ended: undefined,
  });
  return {
    status: 200,
    headers: {
      location: `${origin}/upload/bigquery/v2/projects/${store.project}/jobs?uploadType=resumable&upload_id=${id}`,
    },
  };
}

/** Keeps what continues the bytes that are there; the last piece starts the job. */
async function takePiece(store: Store, { request, url, body }: Asked): Promise<Answer> {
  const upload = store.uploads.get(url.searchParams.get('upload_id') ?? '');
  if (upload === undefined) throw new Refused(404, 'notFound', 'Not Found');
  const [, from, to, total] =
    /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(String(request.headers['content-range'])) ?? [];
  if (total === undefined) throw new Refused(400, 'badRequest', 'Invalid Content-Range');
  if (upload.ended !== undefined) return { status: 200, body: upload.ended };
  if (from !== undefined) {
    if (Number(from) !== upload.bytes.length || Number(to) - Number(from) + 1 !== body.length)
      throw new Refused(400, 'badRequest', 'Invalid Content-Range');
    if (total === '*' && body.length % piece_bytes !== 0)
      throw new Refused(400, 'badRequest', 'A piece must be a multiple of 256 KiB');
    const isCut = store.parts > 0;
    if (isCut) store.parts -= 1;
    upload.bytes = Buffer.concat([upload.bytes, isCut ? body.subarray(0, piece_bytes) : body]);
  }
  if (total !== '*' && upload.bytes.length === Number(total)) {
    upload.ended = await store.jobs.insert(upload.job, upload.bytes);
    return { status: 200, body: upload.ended };
  }
  return {
    status: 308,
    headers: upload.bytes.length === 0 ? {} : { range: `bytes=0-${upload.bytes.length - 1}` },
  };
}

function answerDataset(
  store: Store,
  { request, url, body }: Asked,
  id: string,
  name: string | undefined,
  detail: string | undefined,
): Answer {
  const tables = store.datasets.get(id);
  if (tables === undefined)
    throw new Refused(404, 'notFound', `Not found: Dataset ${store.project}:${id}`);
  if (detail === undefined) return { status: 200, body: { location: 'EU' } };
  if (name === undefined)
    return request.method === 'POST'
      ? makeTable(store, tables, id, body)
      : listTables(store, tables, id, url);
  const table = tables.get(name);
  if (table === undefined)
    throw new Refused(404, 'notFound', `Not found: Table ${store.project}:${id}.${name}`);
  if (request.method === 'DELETE') {
    tables.delete(name);
    return { status: 204 };
  }
  return {
    status: 200,
    body: {
      type: table.type,
      schema: { fields: table.fields },
      numRows: String(table.rows.length),
      ...table.made_with,
    },
  };
}

function makeTable(
  store: Store,
  tables: Map<string, StoredTable>,
  dataset: string,
  body: Buffer,
): Answer {
  type Wanted = {
    tableReference: { projectId: string; datasetId: string; tableId: string };
    schema: { fields: Field[] };
  };
  const { tableReference, schema, ...made_with } = JSON.parse(body.toString()) as Wanted;
  const { projectId, datasetId, tableId } = tableReference;
  if (projectId !== store.project || datasetId !== dataset)
    throw new Refused(400, 'invalid', 'The reference is of another dataset');
  if (tables.has(tableId))
    throw new Refused(
      409,
      'duplicate',
      `Already Exists: Table ${store.project}:${dataset}.${tableId}`,
    );
  tables.set(tableId, {
    type: 'TABLE',
    fields: schema.fields.map((field) => ({ ...field, type: typeName(field.type) })),
    rows: [],
    made_with,
  });
  return { status: 200, body: { tableReference } };
}

function listTables(
  store: Store,
  tables: Map<string, StoredTable>,
  dataset: string,
  url: URL,
): Answer {
  const after = url.searchParams.get('pageToken') ?? '';
  const left = [...tables.keys()].filter((name) => name > after).sort();
  const page = left.slice(0, page_size);
  const list = page.map((tableId) => ({
    tableReference: { projectId: store.project, datasetId: dataset, tableId },
  }));
  return {
    status: 200,
    body: {
      ...(page.length === 0 ? {} : { tables: list }),
      ...(left.length > page_size ? { nextPageToken: page.at(-1) } : {}),
    },
  };
}
