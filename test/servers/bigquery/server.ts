import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { isGrant } from '../google_grant.ts';
import type { Outbound } from '../../../server/platform/outbound/outbound.ts';
import { BigQueryJobs, JobTaken } from './jobs.ts';
import { JobFailure } from './tables.ts';
import type { StoredTable } from './tables.ts';
import { openFaultyServer } from '../faulty_server.ts';
import type { FaultyServer } from '../faulty_server.ts';
import { Refused, origin, page_size, token_uri } from './store.ts';
import type { BigQueryAccount, Store, Answer, Asked } from './store.ts';
import { answerDataset } from './datasets.ts';
import { startUpload, takePiece } from './uploads.ts';
import { own_keys } from '../../factories/people/rsa_keys.ts';

/** A server with the parts of BigQuery's REST API that exports use, on 127.0.0.1. */
export type BigQueryServer = FaultyServer & {
  account: BigQueryAccount;
  jobs: BigQueryJobs;
  /**
   * The tables of a dataset by their names; changing them changes the dataset. An unknown dataset
   * is created.
   */
  tables(dataset: string): Map<string, StoredTable>;
  /** Makes the server keep only the first 256 KiB of the next piece of an upload. */
  takePartNext(): void;
  /** Does the next matching request, and breaks the connection instead of an answer. */
  loseAnswerNext(pattern: RegExp): void;
  /** The guard, which leads Google's addresses here. */
  reroute(outbound: Outbound): Outbound;
};

/**
 * Starts a server with an empty project. It verifies signatures, requires tokens, and returns lists
 * and results in pages of two.
 */
export async function openBigQueryServer(): Promise<BigQueryServer> {
  const project = 'test-project';
  const account = {
    project_id: project,
    private_key: own_keys.private_pem,
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
    public_key: own_keys.publicKey,
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
    const { status, body, headers } = await answer(store, {
      request,
      url: new URL(request.url ?? '/', 'http://host'),
      body: await buffer(request),
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
  const account = {
    public_key: store.public_key,
    client_email: store.account.client_email,
    token_url: token_uri,
  };
  if (!isGrant(form, account, /\/auth\/bigquery$/))
    throw new Refused(400, 'invalid_grant', 'Invalid JWT Signature.');
  const access_token = `token-${randomUUID()}`;
  store.tokens.add(access_token);
  return { status: 200, body: { access_token, expires_in: 3600, token_type: 'Bearer' } };
}
