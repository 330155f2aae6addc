import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { parseError } from '@clickhouse/client';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { openDatabase } from '../postgres/database.ts';
import { beginDrain } from './health/drain.ts';
import { buildServer } from './server.ts';
import { aroundTests } from '../../../test/around_tests.ts';

let own: TestOrganization;
let port: number;
const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    own = await opened.newOrganization();
    await opened.app.listen({ host: '127.0.0.1', port: 0 });
    port = (opened.app.server.address() as AddressInfo).port;
  },
);

const list = '/api/organizations/';
const ownPath = () => `${list}${own.organization.id}/`;

test('a route without a scope, or without documented answers, stops the boot', async () => {
  for (const route of [
    { schema: { response: { 200: {} } } },
    { config: { scope: 'organization:read' as const } },
  ]) {
    const app = buildServer(harness.deps, (api) => void api.get('/api/x/', route, () => ({})));
    await assert.rejects(async () => app.ready(), /declares no scope|documents no answer/);
  }
});

test('a session that the control store ends in the middle of a change is a 503', async () => {
  const app = buildServer(
    harness.deps,
    (api) =>
      void api.get('/api/x/', { config: { scope: 'public' } }, () =>
        harness.deps.db.transaction(async (tx) => {
          const own = await tx.row<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
          await harness.deps.db.run(sql`SELECT pg_terminate_backend(${own!.pid}::integer)`);
          await eventually('the session goes on', () =>
            tx.row(sql`SELECT 1`).then(
              () => false,
              ({ message }: Error) => message.includes('not queryable'),
            ),
          );
          return tx.row(sql`SELECT 1`);
        }),
      ),
  );
  assert.equal((await app.inject('/api/x/')).statusCode, 503);
});

test('a passing fault is a 503: a socket, a deadlock, a long wait, a full store', async () => {
  const faults: Record<string, () => Promise<unknown>> = {
    EPIPE: () => Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    ...Object.fromEntries(
      ['TIMEOUT_EXCEEDED', 'MEMORY_LIMIT_EXCEEDED', 'UNKNOWN_TABLE'].map((type) => [
        type,
        () => Promise.reject(parseError(`Code: 1. DB::Exception: planted. (${type})`)),
      ]),
    ),
    ...Object.fromEntries(
      ['40P01', '25P03', '53100', '57P01', '22003', 'XX000'].map((state) => [
        state,
        () =>
          harness.deps.db.text(`DO $$ BEGIN RAISE 'planted' USING ERRCODE = '${state}'; END $$`),
      ]),
    ),
  };
  const app = buildServer(
    harness.deps,
    (api) =>
      void api.get('/api/x/:fault', { config: { scope: 'public' } }, ({ params }) =>
        faults[(params as { fault: string }).fault]!(),
      ),
  );
  const answers: Record<string, number> = {};
  for (const fault of Object.keys(faults))
    answers[fault] = (await app.inject(`/api/x/${fault}`)).statusCode;
  const full = await app.inject('/api/x/53100');
  assert.match(full.json().detail, /^The server has no room on its disk\./);
  assert.equal(full.headers['retry-after'], '60');
  await app.close();
  assert.deepEqual(answers, {
    EPIPE: 503,
    TIMEOUT_EXCEEDED: 503,
    MEMORY_LIMIT_EXCEEDED: 503,
    UNKNOWN_TABLE: 500,
    '40P01': 503,
    '25P03': 503,
    '53100': 503,
    '57P01': 503,
    '22003': 400,
    XX000: 500,
  });
});

test('a fault in a handler is a 500 that shows nothing of the inside', async () => {
  const app = buildServer(
    harness.deps,
    (api) =>
      void api.get('/api/x/', { config: { scope: 'public' } }, () => {
        throw new Error('password=secret');
      }),
  );
  const answer = await app.inject('/api/x/');
  assert.equal(answer.statusCode, 500);
  assert.equal(answer.json().code, 'error');
  assert.doesNotMatch(answer.body, /secret|node_modules|at /);
  await app.close();
});

test('without the control store the answer is 503, and the process is alive', async () => {
  const db = openDatabase('postgresql://nobody@127.0.0.1:9/none', {
    connections_max: 2,
    application_name: 'test',
  });
  const app = buildServer(
    { ...harness.deps, db },
    (api) =>
      void api.get(
        '/api/x/',
        { config: { scope: 'project:read' }, schema: { response: { 200: {} } } },
        () => ({}),
      ),
  );
  const answer = await app.inject({
    url: '/api/x/',
    headers: { authorization: `Bearer ${own.key}` },
  });
  assert.equal(answer.statusCode, 503);
  assert.equal(answer.headers['retry-after'], '5');
  assert.equal(answer.json().code, 'unavailable');
  assert.equal((await app.inject('/healthz')).statusCode, 200);
  assert.equal((await app.inject('/readyz')).statusCode, 503);
  await app.close();
  await db.close();
});

test('a server whose control store takes no writes is not ready', async () => {
  const { db } = harness.deps;
  const row: typeof db.row = (statement) =>
    db.transaction(async (tx) => {
      await tx.text('SET TRANSACTION READ ONLY');
      return tx.row(statement);
    });
  const app = buildServer({ ...harness.deps, db: { ...db, row } }, () => undefined);
  const ready = await app.inject('/readyz');
  assert.deepEqual([ready.statusCode, ready.json().postgres], [503, 'unavailable']);
  await app.close();
});

test('a server that is about to stop is not ready, and ends connections', async () => {
  const app = buildServer(harness.deps, () => undefined);
  assert.equal((await app.inject('/readyz')).json().postgres, 'ok');
  beginDrain(app);
  const ready = await app.inject('/readyz');
  assert.deepEqual([ready.statusCode, ready.json()], [503, { status: 'stopping' }]);
  const alive = await app.inject('/healthz');
  assert.deepEqual([alive.statusCode, alive.headers.connection], [200, 'close']);
  await app.close();
});

test('a connection on which nothing came does not hold up a server that stops', async () => {
  const app = buildServer(harness.deps, () => undefined);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const accepted = once(app.server, 'connection');
  const silent = connect(port, '127.0.0.1');
  const ended = once(silent, 'close');
  await accepted;
  await app.close();
  await ended;
});

test('metrics name routes, never what callers sent', async () => {
  await own.ask('GET', ownPath());
  const { text } = await harness.request('GET', '/metrics');
  assert.match(text, /route="\/api\/organizations\/:id\/"/);
  assert.doesNotMatch(text, new RegExp(own.organization.id));
});

/** Returns the answer on a connection of its own, until the other side ends it. */
function exchange(sent: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(sent));
    socket
      .on('data', (bytes) => (answer += bytes))
      .on('end', () => resolve(answer))
      .on('error', reject);
  });
}
const headOf = (line: string) =>
  `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.key}\r\n`;
const asking = (line: string) => `${headOf(line)}Connection: close\r\n\r\n`;

test('bytes that are not HTTP, a whole URL and an unknown method are answered', async () => {
  assert.match(await exchange('nonsense\r\n\r\n'), /^HTTP\/1.1 400 .*problem\+json/s);
  assert.match(
    await exchange(asking('GET http://elsewhere/api/organizations/?limit=1&offset=1')),
    /^HTTP\/1.1 200 [\s\S]*"previous":"http:\/\/127.0.0.1:8000\/api\/organizations\/\?limit=1&offset=0"/,
  );
  assert.match(
    await exchange(asking('GET HTTP://elsewhere/api/organizations?limit=1')),
    /^HTTP\/1.1 308 [\s\S]*\r\nlocation: \/api\/organizations\/\?limit=1\r\n/i,
  );
  for (const method of ['PROPFIND', 'TRACE'])
    assert.match(
      await exchange(asking(`${method} ${list}`)),
      /^HTTP\/1.1 405 [\s\S]*\r\nallow: GET, HEAD, POST, OPTIONS\r\n/i,
    );
});

test('a client that sends far too long a body reads the answer, and continues', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024, ' ');
  const chunked = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`;
  for (const [before, after] of [
    [`Content-Length: ${body.length}\r\n\r\n`, ''],
    [chunked, '\r\n0\r\n\r\n'],
  ] as const) {
    const [head, next] = [headOf(`POST ${list}`) + before, after + asking(`GET ${list}`)];
    assert.match(
      await exchange(Buffer.concat([Buffer.from(head), body, Buffer.from(next)])),
      /^HTTP\/1.1 413 [\s\S]*request_too_large[\s\S]*HTTP\/1.1 200 /,
    );
  }
});
