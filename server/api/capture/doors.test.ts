import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { protocols } from './protocols.ts';
import { capture_size_bytes_max } from './read/unpack.ts';

let now = Date.parse('2026-11-22T12:00:00Z');
let harness: Harness;
let home: TestOrganization;
let port: number;
before(async () => {
  harness = await openHarness({
    config: {
      capture_limit_per_address: 400,
      capture_limit_per_key: 40,
      public_url: 'https://sluice.example',
    },
    deps: { clock: { now: () => now } },
  });
  home = await harness.newOrganization();
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  port = Number(new URL(address).port);
});
after(() => harness.close());

const origin = 'https://shop.example';
const spellings = (path: string) => [path, path.replace(/\/$/, '')];
const nextMinutes = () => {
  now += 180_000;
};

/** A client, where it sends, and the fields that it reads in the body of a refusal. */
type RefusalReader = { client: string; path: string; reads: readonly string[] };

/**
 * Every client that reads more of a refusal than its status, at every status. A client that misses
 * a field here takes the refusal for a fault of the network: it repeats a request that can never
 * succeed, and holds back all events behind it.
 */
const refusal_readers: readonly RefusalReader[] = [
  { client: 'posthog-python', path: '/batch/', reads: ['detail'] },
  { client: 'posthog-ruby', path: '/batch/', reads: ['error'] },
  {
    client: 'clients of PostHog, wire version 1',
    path: '/i/v1/analytics/events/',
    reads: ['error', 'error_description'],
  },
  { client: 'segment-analytics-python', path: '/v1/batch/', reads: ['code', 'message'] },
  { client: 'analytics-ruby', path: '/v1/batch/', reads: ['error'] },
  { client: 'rudder-sdk-python', path: '/v1/batch/', reads: ['code', 'message'] },
  { client: 'rudder-sdk-ruby', path: '/v1/batch/', reads: ['error'] },
  { client: 'exporters of OpenTelemetry', path: '/v1/logs/', reads: ['code', 'message'] },
];

test('every door answers pages of other sites, also when it refuses', async () => {
  for (const { match, settings } of protocols)
    for (const { paths, methods = ['POST'] } of [...match, ...settings])
      for (const path of paths.flatMap(spellings).map((one) => one.replace(/:\w+/, 'x'))) {
        const headers = { origin, 'access-control-request-headers': 'x-own' };
        const preflight = await harness.request('OPTIONS', path, { headers });
        assert.equal(preflight.status, 200, path);
        assert.equal(preflight.headers['access-control-allow-headers'], 'x-own');
        assert.equal(preflight.headers['access-control-max-age'], '86400');
        if (!methods.includes('POST')) continue;
        const refused = await harness.request('POST', path, { headers: { origin }, body: '{' });
        assert.ok([200, 400, 401, 404, 405].includes(refused.status), `${path}: ${refused.text}`);
        if (refused.status >= 404) continue;
        assert.equal(refused.headers['access-control-allow-origin'], origin, path);
        assert.equal(refused.headers['access-control-allow-credentials'], 'true', path);
      }
});

test('a method that a door lacks is answered with those that it has', async () => {
  for (const { match, settings } of protocols)
    for (const { paths } of [...match, ...settings])
      for (const path of paths.flatMap(spellings).map((one) => one.replace(/:\w+/, 'x'))) {
        const asked = { headers: { origin }, body: {} };
        const { status, headers, body } = await harness.request('PUT', path, asked);
        assert.deepEqual([status, body.code], [405, 'method_not_allowed'], path);
        assert.equal(headers['access-control-allow-origin'], origin, path);
        assert.match(headers['allow'] as string, /^(GET, HEAD(, POST)?|POST), OPTIONS$/, path);
      }
});

test('a page learns of a wrong address, and of headers that are too long', async () => {
  for (const path of ['/batch/x', '/e/e/', `/array/${'x'.repeat(101)}/config`, '/%zz/']) {
    for (const method of ['GET', 'POST']) {
      const { status, headers } = await harness.request(method, path, { headers: { origin } });
      assert.deepEqual([status, headers['access-control-allow-origin']], [404, origin], path);
    }
  }
  const socket = connect(port, '127.0.0.1');
  socket.write(`POST /e/ HTTP/1.1\r\nhost: x\r\norigin: ${origin}\r\n`);
  socket.end(`cookie: ${'x'.repeat(40_000)}\r\n\r\n`);
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 431 .*\r\n/);
  assert.ok(answer.includes(`\r\naccess-control-allow-origin: ${origin}\r\n`), answer);
  assert.match(answer, /the limit is 32768 bytes/);
  const { values } = await harness.deps.metrics.request_seconds.get();
  assert.ok(values.some(({ labels }) => labels.status === '431'));
});

test('a path may begin with several slashes and may be written in another way', async () => {
  nextMinutes();
  const { project } = await harness.newOrganization();
  const { api_token: api_key, id } = project;
  // Whoever looks for the entries of changes does not know these spellings.
  const headers = { 'x-request-id': 'spelled' };
  const paths = ['//batch/', '///batch', '/%65/', '/%65', '/i/v0/%65/'];
  for (const path of paths) {
    const body = { api_key, batch: [{ event: path, distinct_id: 'ada' }] };
    assert.equal((await harness.request('POST', path, { body, headers })).status, 200);
  }
  const body = { writeKey: api_key, type: 'track', event: '/v1/%74', userId: 'ada' };
  assert.equal((await harness.request('POST', '/v1/%74', { body, headers })).status, 200);
  const stored = (await storedEvents(harness.deps, id)).map(({ event }) => event);
  assert.deepEqual(stored.sort(), [...paths, '/v1/%74'].sort());
});

test('PostHog features that Sluice lacks are answered as switched off', async () => {
  nextMinutes();
  const { api_token: key } = home.project;
  const get = (path: string, headers: Record<string, string> = {}) =>
    harness.request('GET', path, { headers });
  const config = await get(`/array/${key}/config`);
  assert.deepEqual(config.body.supportedCompression, ['gzip', 'gzip-js']);
  assert.deepEqual([config.body.sessionRecording, config.body.hasFeatureFlags], [false, false]);
  const same = await get(`/array/${key}/config`, { 'if-none-match': config.headers['etag']! });
  assert.equal(same.status, 304);
  const script = await get(`/array/${key}/config.js`);
  assert.match(script.headers['content-type']!, /javascript/);
  const window: Record<string, any> = {};
  runInNewContext(script.text, { window });
  const given: unknown = window['_POSTHOG_REMOTE_CONFIG'][key].config;
  assert.equal(JSON.stringify(given), config.text);
  assert.equal((await get('/array/slp_unknown/config.js')).status, 401);
  for (const path of ['/flags/?v=2', '/flags?v=2', '/decide/?v=3']) {
    const { body } = await harness.request('POST', path, { body: { api_key: key } });
    assert.deepEqual([body.flags, body.errorsWhileComputingFlags], [{}, false]);
  }
  assert.deepEqual((await get('/api/surveys/?token=x')).body, { surveys: [] });
  assert.equal((await get('/flags/definitions?token=x')).status, 401);
  const bearer = { authorization: 'Bearer phx_own' };
  assert.deepEqual((await get('/flags/definitions?token=x', bearer)).body.flags, []);
  const flag = '/api/projects/@current/feature_flags/f/remote_config?token=x';
  assert.deepEqual((await get(flag, bearer)).text, 'null');
  assert.deepEqual((await harness.request('POST', '/s/', { body: [{}] })).body, { status: 1 });
  assert.equal((await get('/static/recorder.js')).text, '');
  for (const path of ['/static/toolbar.js?t=1', '/static/1.449.2/toolbar.js'])
    assert.match((await get(path)).text, /ph_load_toolbar=/);
  assert.equal((await get('/static/array.js')).status, 404);
});

test('settings of Segment and RudderStack lead to this server and nowhere else', async () => {
  nextMinutes();
  const { api_token: key } = home.project;
  const settingsAt = (host: string) =>
    harness.request('GET', `/v1/projects/${key}/settings`, { headers: { host } });
  const segment = await settingsAt('events.shop.example');
  const { apiKey, apiHost, protocol } = segment.body.integrations['Segment.io'];
  assert.deepEqual([apiKey, apiHost, protocol], [key, 'events.shop.example/v1', 'http']);
  // A proxy in front need not say that it speaks TLS: the public address does.
  const { body } = await settingsAt('sluice.example');
  assert.equal(body.integrations['Segment.io'].protocol, 'https');
  // The body names this host, so that a shared cache must not give it to clients of another one.
  assert.equal(segment.headers['cache-control'], 'private, max-age=300');
  const rudder = await harness.request('GET', `/sourceConfig/?writeKey=${key}`);
  assert.deepEqual([rudder.body.source.enabled, rudder.body.source.destinations], [true, []]);
  assert.equal((await harness.request('GET', '/sourceConfig/?writeKey=x')).status, 401);
});

test('pictures are pictures, and the event of their query is stored', async () => {
  nextMinutes();
  const { api_token: key, id } = home.project;
  const data = Buffer.from(
    JSON.stringify({ event: 'pixel a', distinct_id: 'x', type: 'track', anonymousId: 'x' }),
  ).toString('base64');
  for (const path of [
    `/e/?img=1&api_key=${key}&data=${data}`,
    `/i?e=se&duid=d&aid=${key}`,
    `/v1/pixel/track?writeKey=${key}&data=${data}`,
    `/api/px/track?writeKey=${key}&data=${data}`,
  ]) {
    const answer = await harness.request('GET', path);
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'image/gif'], path);
    assert.equal(answer.text.slice(0, 6), 'GIF89a');
  }
  const stored = (await storedEvents(harness.deps, id)).map(({ event }) => event).sort();
  assert.deepEqual(stored, ['pixel a', 'pixel a', 'pixel a', 'structured_event']);
});

test('a refusal has every field that its clients read, at every status', async () => {
  nextMinutes();
  const { project } = await harness.newOrganization();
  const { api_token: key } = project;
  const busy = { body: { api_key: key, batch: [] } };
  for (let at = 0; at < 40; at += 1) await harness.request('POST', '/e/', busy);
  const bomb = gzipSync(Buffer.alloc(capture_size_bytes_max + 1, ' '));
  for (const { client, path, reads } of refusal_readers) {
    const empty = path.includes('logs') ? '{"resourceLogs":[]}' : '{"batch":[]}';
    const cases = {
      400: ['{', key],
      401: [empty, ''],
      413: [bomb, key],
      503: [empty, key],
    } as const;
    for (const [status, [body, shown]] of Object.entries(cases)) {
      const headers = { 'x-write-key': shown };
      const refused = await harness.request('POST', path, { headers, body });
      assert.equal(String(refused.status), status, client);
      for (const field of reads)
        assert.match(String(refused.body[field] ?? ''), /\S/, `${client}, ${status}: ${field}`);
    }
  }
});

test('a body that comes too slowly is put off, and its connection ends', async () => {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk) => (heard += String(chunk)));
  const ended = once(socket, 'close');
  socket.write('POST /e/ HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"half":');
  await eventually('The slow body is not refused.', () => {
    nextMinutes();
    return heard.includes('\r\n\r\n');
  });
  await ended;
  assert.match(heard, /^HTTP\/1.1 503 [^]*retry-after: 1\r\n/);
});

test('too many requests of a project or an address are 503 with the seconds to wait', async () => {
  nextMinutes();
  const { api_token: api_key } = home.project;
  const statuses: number[] = [];
  for (let at = 0; at < 42; at += 1) {
    const answer = await harness.request('POST', '/e/', { body: { api_key, batch: [] } });
    statuses.push(answer.status);
    if (answer.status === 503) assert.match(answer.headers['retry-after']!, /^\d+$/);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 40 }, () => 200), 503, 503]);
  const other = await harness.newOrganization();
  const sent = { body: { api_key: other.project.api_token, batch: [] } };
  assert.equal((await harness.request('POST', '/e/', sent)).status, 200);
  nextMinutes();
  let last = 0;
  for (let at = 0; at < 401; at += 1)
    last = (await harness.request('POST', '/s/', { body: '{}' })).status;
  assert.equal(last, 503);
});
