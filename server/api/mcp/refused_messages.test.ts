import assert from 'node:assert/strict';
import { test } from 'node:test';
import { is_deep } from '../../../test/depth.ts';
import { openHarness, shareHarness } from '../../../test/harness.ts';
import type { Answer, Sent, TestOrganization } from '../../../test/harness.ts';

let home: TestOrganization;
const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    home = await harness.newOrganization();
  },
});

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const post = (body: unknown, sent: Sent = {}) =>
  harness.request('POST', '/mcp', { key: home.key, body, ...sent });
const isProblem = (answer: Answer, status: number, words: RegExp) => {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type']!, /^application\/problem\+json/);
  assert.match(answer.body.detail, words);
};
const isProtocolError = (answer: Answer, status: number, code: number) => {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type']!, /^application\/json/);
  assert.equal(answer.body.error.code, code, answer.text);
};

test('only a personal API key opens it', async () => {
  isProblem(await harness.request('POST', '/mcp', { body: list }), 401, /personal API key/);
  const wrong = `slk_${'0'.repeat(49)}`;
  const refused = await post(list, { key: wrong });
  isProblem(refused, 401, /unknown, expired or revoked/);
  const metadata = 'http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp';
  assert.equal(
    refused.headers['www-authenticate'],
    `Bearer error="invalid_token", resource_metadata="${metadata}", ` +
      'scope="organization:read project:read batch_export:read activity_log:read plugin:read"',
  );
  isProblem(await post(list, { key: home.project.api_token }), 401, /write key/);
  const cookie = await harness.newSession(home.user);
  const session = await harness.request('POST', '/mcp', { body: list, headers: { cookie } });
  isProblem(session, 401, /a session is not accepted here/);
  const both = await post(list, { headers: { cookie } });
  isProblem(both, 400, /only one credential/);
});

test('a page of another site is refused, whatever names it has for the server', async () => {
  const own = { origin: harness.deps.config.public_url };
  assert.equal((await post(list, { headers: own })).status, 200);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example.com' },
    { origin: 'null' },
    // DNS rebinding: the page's own name leads to the server, so Host agrees with Origin.
    { origin: 'http://evil.example.com:8000', host: 'evil.example.com:8000' },
    { origin: 'http://127.0.0.1:8001' },
    { origin: 'https://127.0.0.1:8000' },
  ];
  for (const headers of foreign) isProblem(await post(list, { headers }), 403, /other sites/);
});

test('only POST works; a slash at the end redirects', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await home.ask(method, '/mcp');
    isProblem(answer, 405, /it has POST/);
    assert.equal(answer.headers['allow'], 'POST');
  }
  const led = await home.ask('POST', '/mcp/', list);
  assert.equal(led.status, 308);
  assert.equal(led.headers['location'], '/mcp');
});

test('a body that is no message is refused in the words of the API', async () => {
  isProblem(await post('{'), 400, /not valid JSON/);
  isProblem(await post('['.repeat(100)), 400, /nested deeper/);
  isProblem(await post('{"jsonrpc":"2.0","id":"\\u0000"}'), 400, /Null characters/);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  isProblem(await post('a=b', { headers: form }), 415, /application\/json/);
  isProblem(await post(list, { headers: { accept: 'text/html' } }), 406, /application\/json/);
  const huge = JSON.stringify({ ...list, params: { x: 'y'.repeat(1024 * 1024) } });
  isProblem(await post(huge), 413, /the limit is 1048576 bytes/);
});

test('a message is answered in the words of the protocol', async () => {
  isProtocolError(await post({ jsonrpc: '2.0', id: 1, method: 'tools/erase' }), 200, -32601);
  const unknown = { ...list, method: 'tools/call', params: { name: 'erase', arguments: {} } };
  isProtocolError(await post(unknown), 200, -32602);
  for (const body of [{ hello: 'world' }, {}, '', 'null', '"x"', '1'])
    isProtocolError(await post(body), 400, -32600);
  for (const batch of [[list, list], [list], []]) isProtocolError(await post(batch), 400, -32600);
  const version = { 'mcp-protocol-version': '1999-01-01' };
  assert.equal((await post(list, { headers: version })).status, 400);
});

test('no message that can be sent makes a fault', async () => {
  const methods = [
    'initialize',
    'ping',
    'server/discover',
    'tools/list',
    'tools/call',
    'resources/read',
    'prompts/get',
    'logging/setLevel',
    'completion/complete',
    'tasks/cancel',
    'subscriptions/listen',
    'notifications/cancelled',
    '__proto__',
    7,
  ];
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const params = [
    undefined,
    null,
    [],
    'x',
    {},
    { _meta: meta },
    { _meta: 'x' },
    { name: 'list_exports', arguments: 'x' },
    { name: 'list_exports', arguments: { project: {}, limit: 1e99 } },
    { name: 'get_export', arguments: { export: '%2e%2e%2fusers' } },
    { name: 'find_record', arguments: { distinct_id: '?&#/../', day: '../' } },
    { name: 'plan_configuration', arguments: { configuration: { a: [{}] }, source: ' ' } },
    { name: ['list_exports'], cursor: {} },
    { protocolVersion: {}, capabilities: 1, clientInfo: null },
  ];
  // A fault would be a 500, or an answer that the document does not have: the harness looks.
  // Each method with each of the parameters, under one of the ids in turn or under all of them.
  const ids = [1, undefined, {}];
  for (const [row, method] of methods.entries())
    for (const [column, one] of params.entries())
      for (const [at, id] of ids.entries())
        if (is_deep || (row + column) % ids.length === at)
          await post({ jsonrpc: '2.0', method, params: one, id });
});

test('a notification is accepted without an answer, and so is its repeat', async () => {
  for (const is_replayed of [undefined, 'true']) {
    const answer = await post(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { headers: { 'idempotency-key': 'once' } },
    );
    assert.deepEqual(
      [answer.status, answer.text, answer.headers['content-type']],
      [202, '', undefined],
    );
    assert.equal(answer.headers['idempotent-replayed'], is_replayed);
  }
});

test('no stream is opened, and no session created', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  const params = { _meta: meta, notifications: { toolsListChanged: true } };
  const listen = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params };
  isProtocolError(await post(listen, { headers }), 200, -32603);
  for (const protocolVersion of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const clientInfo = { name: 'old', version: '1' };
    const params = { protocolVersion, capabilities: {}, clientInfo };
    const answer = await post({ ...list, method: 'initialize', params });
    assert.equal(answer.body.result.protocolVersion, protocolVersion);
    assert.equal(answer.headers['mcp-session-id'], undefined);
    assert.match(answer.body.result.instructions, /untrusted_text/);
  }
});

test('the limit of requests holds for messages too', async () => {
  const limited = await openHarness({
    clickhouse: false,
    config: { rate_limit_per_minute: 2, rate_limit_per_hour: 0 },
  });
  const { key } = await limited.newOrganization();
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const send = () => limited.request('POST', '/mcp', { key, body: ping });
  assert.deepEqual((await send()).body.result, {});
  await send();
  const refused = await send();
  isProblem(refused, 429, /Too many requests/);
  assert.ok(refused.headers['retry-after']);
  await limited.close();
});
