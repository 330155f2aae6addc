import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import type { Answer, TestOrganization } from '../../../../test/harness.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { packageFiles, setPluginsLevel } from '../../../../test/factories/plugins/plugins.ts';

let home: TestOrganization;
const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
const url = (own: TestOrganization = home) =>
  `/api/projects/${own.project.id}/plugin_configs/try_out/`;
const ask = (body: unknown, more = '', own: TestOrganization = home): Promise<Answer> =>
  harness.request('POST', url(own) + more, { key: own.key, body });

const received: { method: string; body: string; token: string | undefined }[] = [];
let server: Server;
let address: string;
before(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ method: request.method!, body, token: request.headers.authorization });
      response.writeHead(202, { 'x-seen': 'yes' }).end('taken');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const config_fields = [
  { key: 'address', name: 'Address', type: 'string', required: true },
  { key: 'token', name: 'Token', type: 'string', secret: true },
];
const poster = `export async function onEvent(event, { config, storage }) {
    console.log('posting', event.event);
    const response = await fetch(config.address, {
      method: 'POST', headers: { authorization: 'Bearer ' + config.token },
      body: JSON.stringify({ name: event.event, plan: event.properties.plan }),
    });
    await storage.set('last', event.uuid);
    await sluice.capture('posted', { distinct_id: 'x' });
    return response.status;
  }`;
const sample = { event: 'signed up', distinct_id: 'ada', properties: { plan: 'pro' } };

/** The body of a trial: a destination with this code and, unless said otherwise, its settings. */
const destination = (code: string, more: Record<string, unknown> = {}) => ({
  collection: 'pipeline_destinations',
  source: packageFiles('pipeline_destinations', { config: config_fields }, { 'index.ts': code }),
  config: { address, token: 't0ken' },
  allowed_hosts: ['127.0.0.1'],
  event: sample,
  ...more,
});

test('a request is shown and not sent, unless it is asked for', async () => {
  const { status, body, text } = await ask(destination(poster));
  assert.equal(status, 200, text);
  assert.deepEqual(
    body.calls.map((one: { method: string; result: string; error: unknown }) => [
      one.method,
      one.result,
      one.error,
    ]),
    [['onEvent', '200', null]],
  );
  assert.equal(received.length, 0);
  const [request] = body.requests;
  assert.deepEqual(
    [request.method, request.url, request.is_sent, request.answer, request.body.text],
    ['POST', address, false, null, '{"name":"signed up","plan":"pro"}'],
  );
  assert.equal(request.headers.authorization, 'Bearer t0ken');
  assert.deepEqual(body.logs, [{ level: 'log', message: 'posting signed up' }]);
  assert.deepEqual(
    body.effects.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
    [
      ['storage', 'last'],
      ['capture', 'posted'],
    ],
  );
  assert.equal(body.event.team_id, home.project.id);
  const sent = await ask(destination(poster, { sends: true }));
  assert.deepEqual(
    received.splice(0),
    [{ method: 'POST', body: '{"name":"signed up","plan":"pro"}', token: 'Bearer t0ken' }],
    sent.text,
  );
  const [real] = sent.body.requests;
  assert.deepEqual(
    [real.is_sent, real.answer.status, real.answer.headers['x-seen'], real.answer.body.text],
    [true, 202, 'yes', 'taken'],
  );
  // Nothing is kept of either.
  const { db } = harness.deps;
  const counts = await Promise.all([
    db.row(sql`SELECT count(*)::int AS count FROM plugins
      WHERE organization_id = ${home.organization.id}::uuid`),
    db.row(sql`SELECT count(*)::int AS count FROM plugin_configs
      WHERE team_id = ${home.project.id}`),
  ]);
  assert.deepEqual(counts, [{ count: 0 }, { count: 0 }]);
});

test('the event may be a stored one; processEvent and composeWebhook take part', async () => {
  const uuid = crypto.randomUUID();
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events: [{ uuid, event: 'stored', distinct_id: 'ada', properties: { $set: { plan: 'pro' } } }],
  });
  const code = `export const processEvent = (event) =>
      event.event === 'stored' ? { ...event, event: 'changed' } : null;
    export const composeWebhook = (event, { config }) =>
      ({ url: config.address, body: { name: event.event, set: event.$set } });`;
  const { event: _event, ...stored } = destination(code, { event_uuid: uuid });
  const { body, text } = await ask(stored);
  assert.deepEqual(
    body.calls.map(({ method }: { method: string }) => method),
    ['processEvent', 'composeWebhook', 'the webhook'],
    text,
  );
  assert.equal(body.requests[0].body.text, '{"name":"changed","set":{"plan":"pro"}}');
  assert.deepEqual([body.event.uuid, body.event.event], [uuid, 'stored']);
  // A dropped event goes no further.
  const dropped = await ask(destination(code));
  assert.deepEqual([dropped.body.calls.length, dropped.body.requests], [1, []]);
  const other = await harness.newOrganization();
  for (const [own, event_uuid] of [
    [other, uuid],
    [home, crypto.randomUUID()],
  ] as const) {
    const answer = await ask({ ...stored, event_uuid }, '', own);
    assert.deepEqual([answer.status, answer.body.attr], [400, 'event_uuid']);
  }
});

test('a fault has its place; loops, memory and hosts are bounded as in real life', async () => {
  const errorOf = async (code: string, more: Record<string, unknown> = {}) => {
    const { body, status, text } = await ask(destination(code, more));
    assert.equal(status, 200, text);
    return { ...body, error: body.calls.at(-1)?.error };
  };
  const thrown = await errorOf(`export function onEvent() {\n  throw new TypeError('no');\n}`);
  assert.deepEqual(thrown.error, {
    message: 'TypeError: no',
    is_retry: false,
    file: 'index.ts',
    line: 2,
    column: 9,
  });
  const retry = await errorOf(`export function onEvent() { throw new RetryError('later'); }`);
  assert.deepEqual([retry.error.message, retry.error.is_retry], ['later', true]);
  const setup = await errorOf(
    `export function setupPlugin() { throw new Error('bad'); }\nexport function onEvent() {}`,
  );
  assert.deepEqual(
    setup.calls.map(({ method }: { method: string }) => method),
    ['setupPlugin'],
  );
  const endless = await errorOf('export function onEvent() {\n  for (;;) {}\n}');
  assert.match(endless.error.message, /1 s without a pause/);
  assert.equal(endless.error.line, 2);
  const large = await errorOf(
    `export function onEvent() {
      const all = [];
      for (;;) all.push(new Array(1000).fill(Math.random()));
    }`,
  );
  assert.match(large.error.message, /64 MB of memory|1 s without a pause/);
  // A host that the settings do not name, and one that the server refuses.
  const asking = (to: string) =>
    `export async function onEvent() { await fetch('http://${to}/'); }`;
  const unnamed = await errorOf(asking('api.example.com'), { sends: true });
  assert.match(unnamed.error.message, /may not reach api\.example\.com/);
  assert.deepEqual([unnamed.refused_hosts, unnamed.requests], [['api.example.com'], []]);
  const inner = await errorOf(asking('169.254.169.254'), {
    sends: true,
    allowed_hosts: ['169.254.169.254'],
  });
  assert.equal(inner.requests[0].answer, null);
  assert.match(inner.requests[0].error, /169\.254\.169\.254/);
  assert.deepEqual(received, []);
});

test('the storage and cache of a trial begin empty, and hold what it writes', async () => {
  const code = `export async function runEveryHour({ storage, cache, jobs, metrics }) {
      const before = await storage.get('a', 'none');
      await storage.set('a', { b: 1 });
      await cache.set('n', 1);
      const n = await cache.incr('n');
      await cache.lpush('l', [1, 2, 3]);
      const list = [await cache.lrange('l', 0, -1), await cache.lrem('l', 0, 2),
        await cache.lpop('l', 1), await cache.llen('l'), await cache.expire('l', 5)];
      await jobs.more({ page: 2 }).runIn(1, 'minute');
      metrics.rows.increment(3);
      return { before, after: await storage.get('a'), n, list };
    }
    export const jobs = { more() {} };
    export const metrics = { rows: 'sum' };`;
  const source = { 'index.ts': code };
  const { body, text } = await ask({ collection: 'pipeline_import_apps', source });
  assert.deepEqual(
    JSON.parse(body.calls[0].result),
    { before: 'none', after: { b: 1 }, n: 2, list: [[3, 2, 1], 1, [3], 1, true] },
    text,
  );
  assert.deepEqual(body.effects, [
    { kind: 'storage', name: 'a', value: '{"b":1}' },
    { kind: 'job', name: 'more', value: '{"payload":{"page":2},"delay_ms":60000}' },
    { kind: 'metric', name: 'rows', value: '3' },
  ]);
  const wrong = await ask({ collection: 'pipeline_import_apps', source, task: 'runEveryDay' });
  assert.deepEqual([wrong.status, wrong.body.attr], [400, 'task']);
});

test('the files are checked before anything runs, and alone with validate_only', async () => {
  const wrong = await ask(destination('export function onEvent() {\n  const a = ;\n}'));
  const [fault] = wrong.body.errors;
  assert.deepEqual(
    [wrong.status, fault.attr, fault.file, fault.line],
    [400, 'source', 'index.ts', 2],
  );
  const idle = await ask(destination('export const onSomething = 1;'));
  assert.match(idle.body.detail, /must export onEvent/);
  const { event: _event, config: _config, ...bare } = destination(poster);
  const checked = await ask(bare, '?validate_only=true');
  assert.deepEqual([checked.status, checked.body.calls], [200, []]);
  assert.deepEqual(checked.body.config_schema, config_fields);
  const lacking = await ask(bare);
  assert.deepEqual([lacking.status, lacking.body.attr], [400, 'config__address']);
  const nothing = await ask({ ...bare, config: { address } });
  assert.deepEqual([nothing.status, nothing.body.attr], [400, 'event']);
  const site = await ask({
    collection: 'pipeline_frontend_apps',
    source: packageFiles('pipeline_frontend_apps'),
  });
  assert.deepEqual([site.status, site.body.calls], [200, []]);
});

test('only who may write code may try it', async () => {
  const own = await harness.newOrganization();
  const member = await harness.newMember(own.organization.id, 1);
  const asked = (key: string) =>
    harness.request('POST', url(own), { key, body: destination(poster) });
  assert.equal((await asked(member.key)).status, 403);
  await setPluginsLevel(harness, own, 3);
  const refused = await asked(own.key);
  assert.deepEqual([refused.status, /level 6/.test(refused.text)], [403, true]);
  const reader = await harness.newKey(own.user, { scopes: ['plugin:read'] });
  assert.equal((await asked(reader)).status, 403);
});
