import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { readRequest } from '../../server/platform/embedded/clickhouse/request.ts';
import type { ClickHouseRequest } from '../../server/platform/embedded/clickhouse/request.ts';
import { Failure, NoAnswer } from './failure.ts';
import { answer } from './answer.ts';
import type { Answer, Request } from './answer.ts';
import { settingOf } from './insert.ts';
import type { Process, Replica } from './replica.ts';
import type { Cluster } from './replication.ts';

const address_bytes_max = 1024 * 1024;
/** Longest silence of a balancer's answer before it tries another replica. */
const hang_ms_max = 600_000;

/**
 * Opens ClickHouse's HTTP interface in front of a replica, or of the one that `choose` returns for
 * a statement; `name` is its own name. The cluster's `trouble` decides the faults on the way.
 */
export function openFront(
  cluster: Cluster,
  choose: (text: string) => Replica | undefined,
  name: (replica: Replica) => string,
): Server {
  const options = { maxHeaderSize: address_bytes_max, keepAliveTimeout: 30_000, requestTimeout: 0 };
  return createServer(options, (request, response) => {
    response.on('error', () => undefined);
    void serve(cluster, choose, name, request, response).catch((error: unknown) => {
      if (error instanceof Failure && !response.headersSent) sendFailure(response, error);
      else response.destroy();
    });
  });
}

function sendFailure(response: ServerResponse, { code, status, message }: Failure): void {
  response.statusCode = status;
  response.setHeader('X-ClickHouse-Exception-Code', code);
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.end(`${message}\n`);
}

async function serve(
  cluster: Cluster,
  choose: (text: string) => Replica | undefined,
  name: (replica: Replica) => string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const first = choose('');
  if (first === undefined || first.state === 'refusing' || first.state === 'gone')
    throw new NoAnswer('Nobody is here.');
  if (request.url === '/ping' && first.state === 'up') return void response.end('Ok.\n');
  const { trouble, random } = cluster.settings;
  const [late, cut, repeat] = [random.next(), random.next(), random.next()];
  const [late_ms, cut_at] = [random.between(1, Math.max(1, trouble.late_ms_max)), random.next()];
  const read = await readRequest(request);
  if ('fault' in read) throw new Failure(read.fault.code, 'BAD_ARGUMENTS', read.fault.text, 400);
  const body = read.data === undefined ? undefined : await buffer(read.data);
  const replica = choose(read.text) ?? first;
  const is_cut = cut < trouble.cut;
  // A third of the cut requests never arrive.
  if (is_cut && cut_at < 1 / 3) throw new NoAnswer('The request was lost.');
  if (late < trouble.late) await pause(late_ms);
  await cluster.changes.until(() => replica.state !== 'hanging', hang_ms_max);
  if (replica.state !== 'up') throw new NoAnswer(`${replica.name} is away.`);
  // In a sixth of the requests, the replica notices the lost client before it is done.
  const is_left = is_cut && cut_at < 1 / 2;
  const work = (left: boolean) =>
    withProcess(replica, read, { body, is_left: left }, response, (asked) =>
      answer(cluster, replica, asked),
    );
  if (repeat < trouble.repeat && /^\s*INSERT/i.test(read.text)) {
    // A proxy that loses its connection retries without reporting it.
    if (cut_at < 1 / 2) await work(true).then(drop, () => undefined);
    else
      void pause(late_ms)
        .then(() => work(false))
        .then(drop, () => undefined);
  }
  const given = await work(is_left);
  if (is_cut && cut_at < 2 / 3) {
    drop(given);
    throw new NoAnswer('The answer was lost.');
  }
  response.setHeader('X-ClickHouse-Server-Display-Name', name(replica));
  await send(response, given, is_cut);
}

function drop({ body }: Answer): void {
  if (typeof body === 'string') return;
  body.on('error', () => undefined);
  body.destroy();
}

/** Shows the request among the replica's processes until its answer, and ends it in time. */
async function withProcess(
  replica: Replica,
  read: ClickHouseRequest,
  { body, is_left }: { body: Buffer | undefined; is_left: boolean },
  response: ServerResponse,
  work: (asked: Request) => Promise<Answer>,
): Promise<Answer> {
  const cancelled = new AbortController();
  if (is_left) cancelled.abort();
  const process: Process = {
    query_id: read.query_id ?? randomUUID(),
    query: read.text.slice(0, 10_000),
    began: performance.now(),
    cancelled,
  };
  const settings: [string, string][] = [
    ...read.params,
    ...read.settings,
    ['default_format', read.default_format],
  ];
  const seconds = Number(settingOf(settings, 'max_execution_time') ?? 0);
  const timer = seconds > 0 ? setTimeout(() => cancelled.abort(), seconds * 1_000) : undefined;
  // A read ends when its client is gone; a completely sent insert continues.
  if (!/^\s*(INSERT|ALTER|CREATE|DROP)/i.test(read.text)) {
    if (response.closed) cancelled.abort();
    response.once('close', () => cancelled.abort());
  }
  replica.processes.add(process);
  try {
    return await work({ text: read.text, body, settings, process });
  } finally {
    clearTimeout(timer);
    replica.processes.delete(process);
  }
}

async function send(
  response: ServerResponse,
  { headers, body }: Answer,
  is_cut: boolean,
): Promise<void> {
  for (const [header, value] of Object.entries(headers))
    if (/^(x-clickhouse-(format|summary|timezone|query-id)|content-type)$/.test(header))
      response.setHeader(header, String(value));
  if (typeof body === 'string') return void response.end(body);
  if (response.closed) return drop({ headers, body });
  body.on('error', () => response.destroy());
  const closed = new Promise((resolve) => response.once('close', resolve));
  void closed.then(() => body.destroy());
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (is_cut) {
      response.write(chunk.subarray(0, chunk.length / 2));
      await pause(1);
      throw new NoAnswer('The answer was cut off.');
    }
    if (!response.write(chunk)) await Promise.race([drained(response), closed]);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<unknown> {
  return new Promise((resolve) => response.once('drain', resolve));
}
