import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { openDatabase } from '../postgres/database.ts';
import { error_codes } from './errors.ts';
import { buildServer } from './server.ts';

let harness: Harness;
let own: TestOrganization;
before(async () => {
  harness = await openHarness({ clickhouse: false });
  own = await harness.newOrganization();
});
after(() => harness.close());

const list = '/api/organizations/';
const ownPath = () => `${list}${own.organization.id}/`;

test('without its slash a path redirects with 308 and keeps the query, whatever the method', async () => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    const answer = await harness.request(method, `${ownPath().slice(0, -1)}?a=1&b=%20x`);
    assert.equal(answer.status, 308);
    assert.equal(answer.headers['location'], `${ownPath()}?a=1&b=%20x`);
  }
});

test('every error has the one body, with the request id that also stands in the header', async () => {
  const answer = await harness.request('GET', '/api/nothing/', {
    headers: { 'x-request-id': 'mine-1' },
  });
  assert.equal(answer.status, 404);
  assert.equal(answer.headers['x-request-id'], 'mine-1');
  assert.match(answer.headers['content-type']!, /^application\/problem\+json/);
  const entry = { attr: null, code: 'not_found', detail: 'Not found.' };
  assert.deepEqual(answer.body, {
    type: 'invalid_request',
    ...entry,
    status: 404,
    title: 'Not Found',
    request_id: 'mine-1',
    errors: [entry],
  });
  assert.notEqual(
    (
      await harness.request('GET', '/api/nothing/', {
        headers: { 'x-request-id': 'not\tharmless {}' },
      })
    ).headers['x-request-id'],
    'not\tharmless {}',
  );
});

test('the list of error codes is sorted and has no code twice', () => {
  assert.deepEqual([...error_codes], [...new Set(error_codes)].sort());
});

test('a method that a path lacks is 405 with Allow; OPTIONS and HEAD answer', async () => {
  const wrong = await harness.request('DELETE', list, { key: own.key });
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers['allow'], 'GET, HEAD, POST, OPTIONS');
  const options = await harness.request('OPTIONS', ownPath());
  assert.equal(options.status, 204);
  assert.equal(options.headers['allow'], 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS');
  const [head, get] = [
    await harness.request('HEAD', ownPath(), { key: own.key }),
    await harness.request('GET', ownPath(), { key: own.key }),
  ];
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['etag'], get.headers['etag']);
  assert.equal(head.headers['content-length'], get.headers['content-length']);
  assert.equal((await harness.request('HEAD', ownPath())).status, 401);
});

test('Accept that does not take JSON is 406; wildcards and quality values are understood', async () => {
  for (const [accept, status] of [
    ['text/html', 406],
    ['application/json;q=0', 406],
    ['text/html, */*;q=0.1', 200],
    ['application/*', 200],
    ['APPLICATION/JSON', 200],
    ['application/problem+json', 200],
  ] as const) {
    assert.equal(
      (await harness.request('GET', ownPath(), { key: own.key, headers: { accept } })).status,
      status,
      accept,
    );
  }
});

test('a body that is not JSON, of another kind, packed or too deep is refused by name', async () => {
  const cases: [string | Buffer, Record<string, string>, number, string][] = [
    ['{', {}, 400, 'parse_error'],
    ['nope', {}, 400, 'parse_error'],
    [Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'parse_error'],
    ['['.repeat(100_000), {}, 400, 'parse_error'],
    ['{"a":'.repeat(65) + '1' + '}'.repeat(65), {}, 400, 'parse_error'],
    ['[]', {}, 400, 'invalid_input'],
    ['"text"', {}, 400, 'invalid_input'],
    ['null', {}, 400, 'null'],
    [
      'name=x',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    ['{"name":"x"}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [
      '{"name":"x"}',
      { 'content-type': 'application/json; charset=latin1' },
      415,
      'unsupported_media_type',
    ],
    ['{"name":"x"}', { 'content-type': 'nonsense' }, 415, 'unsupported_media_type'],
    ['{"name":"x"}', { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
  ];
  for (const [body, headers, status, code] of cases) {
    const answer = await harness.request('POST', list, { key: own.key, body, headers });
    assert.equal(answer.status, status, String(body).slice(0, 40));
    assert.equal(answer.body.code, code, String(body).slice(0, 40));
  }
  const plain = await harness.request('POST', list, {
    key: own.key,
    body: '{"name":"x"}',
    headers: { 'content-type': 'application/json; charset="UTF-8"' },
  });
  assert.equal(plain.status, 201);
});

test('without credentials 64 KiB are taken', async () => {
  const padded = (bytes: number) => `{"email":"","unknown":"${'y'.repeat(bytes - 25)}"}`;
  const url = '/api/users/reset_password/';
  assert.deepEqual(
    (await harness.request('POST', url, { body: padded(64 * 1024) })).body.attr,
    'email',
  );
  const large = await harness.request('POST', url, { body: padded(64 * 1024 + 1) });
  assert.equal(large.status, 413);
  assert.match(large.body.detail, / 65536 bytes /);
});

test('NUL and half surrogates are refused everywhere', async () => {
  for (const body of [
    '{"name":"a\\u0000b"}',
    '{"unknown":{"deep":["\\u0000"]}, "name":"x"}',
    '{"\\u0000":1,"name":"x"}',
  ]) {
    const answer = await harness.request('POST', list, { key: own.key, body });
    assert.equal(answer.status, 400, body);
    assert.equal(answer.body.code, 'null_characters_not_allowed');
  }
  assert.equal(
    (
      await harness.request('POST', list, {
        key: own.key,
        body: '{"unknown":{"deep":["\\u0000"]}, "name":"x"}',
      })
    ).body.attr,
    'unknown__deep__0',
  );
  assert.equal(
    (await harness.request('POST', list, { key: own.key, body: '{"name":"\\ud800"}' })).body.code,
    'invalid_input',
  );
  assert.equal(
    (await harness.request('POST', list, { key: own.key, body: '{"name":"\\ud83d\\ude00"}' })).body
      .name,
    '😀',
  );
  assert.equal((await harness.request('GET', `${list}?limit=%00`, { key: own.key })).status, 400);
  assert.equal((await harness.request('GET', `${list}%00/`, { key: own.key })).status, 404);
  assert.equal((await harness.request('GET', `${list}%zz/`, { key: own.key })).status, 404);
});

test('unknown and read-only fields are ignored, __proto__ is harmless, names are trimmed', async () => {
  const id = own.organization.id;
  const answer = await harness.request('POST', list, {
    key: own.key,
    body:
      '{"name":"  A  name ' +
      `","id":"${id}","slug":"mine","plugins_access_level":0,"__proto__":{"level":1},"constructor":1,"toString":2}`,
  });
  assert.equal(answer.status, 201);
  assert.notEqual(answer.body.id, id);
  assert.equal(answer.body.slug, 'a-name');
  assert.equal(answer.body.name, 'A  name');
  assert.equal(answer.body.plugins_access_level, 9);
  assert.equal(({} as { level?: number }).level, undefined);
});

test('the order of checks: key, scope, membership, level, body, rule', async () => {
  const stranger = await harness.newOrganization();
  const member = await harness.newMember(own.organization.id, 1);
  const reader = await harness.newKey(own.user, { scopes: ['project:read'] });
  const broken = { body: '{' };
  const at = async (path: string, sent: object) =>
    (await harness.request('PATCH', path, { ...broken, ...sent })).status;
  assert.equal(await at(`${list}unknown/`, {}), 401);
  assert.equal(await at(`${list}unknown/`, { key: reader }), 403);
  assert.equal(await at(`${list}unknown/`, { key: own.key }), 404);
  assert.equal(await at(ownPath(), { key: stranger.key }), 404);
  assert.equal(await at(ownPath(), { key: member.key }), 403);
  assert.equal(await at(ownPath(), { key: own.key }), 400);
});

test('a stranger sees exactly what an unknown id shows', async () => {
  const stranger = await harness.newOrganization();
  const plain = async (path: string) => {
    const { body, status } = await harness.request('GET', path, { key: stranger.key });
    return { status, body: { ...body, request_id: '' } };
  };
  assert.deepEqual(
    await plain(ownPath()),
    await plain(`${list}01890000-0000-7000-8000-000000000000/`),
  );
  assert.deepEqual(
    await plain(`/api/projects/${own.project.id}/`),
    await plain('/api/projects/2147483647/'),
  );
});

test('ETag: 304 for the tag that a caller has, 412 for a stale one, also for DELETE', async () => {
  const { organization, key } = await harness.newOrganization();
  const path = `${list}${organization.id}/`;
  const first = (await harness.request('GET', path, { key })).headers['etag']!;
  assert.match(first, /^"[\w-]{27}"$/);
  for (const tag of [first, `W/${first}`, `"other", ${first}`, '*']) {
    const answer = await harness.request('GET', path, { key, headers: { 'if-none-match': tag } });
    assert.equal(answer.status, 304, tag);
    assert.equal(answer.text, '');
    assert.equal(answer.headers['etag'], first);
  }
  const changed = await harness.request('PATCH', path, {
    key,
    body: { name: 'Changed' },
    headers: { 'if-match': first },
  });
  assert.equal(changed.status, 200);
  assert.equal(
    (await harness.request('GET', path, { key })).headers['etag'],
    changed.headers['etag'],
  );
  for (const method of ['PATCH', 'PUT', 'DELETE']) {
    const stale = await harness.request(method, path, {
      key,
      body: { name: 'Again' },
      headers: { 'if-match': first },
    });
    assert.equal(stale.status, 412, method);
    assert.equal(stale.body.code, 'precondition_failed');
  }
  assert.equal(
    (
      await harness.request('PUT', path, {
        key,
        body: { name: 'Any' },
        headers: { 'if-match': '*' },
      })
    ).status,
    200,
  );
});

test('of two changes with the same If-Match that race, one is 412', async () => {
  const { organization, key } = await harness.newOrganization();
  const path = `${list}${organization.id}/`;
  const tag = (await harness.request('GET', path, { key })).headers['etag']!;
  const answers = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) =>
      harness.request('PATCH', path, { key, body: { name }, headers: { 'if-match': tag } }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 412, 412, 412]);
});

test('a route without a scope, or without documented answers, stops the boot', async () => {
  for (const route of [
    { schema: { response: { 200: {} } } },
    { config: { scope: 'organization:read' as const } },
  ]) {
    const app = buildServer(harness.deps, (api) => void api.get('/api/x/', route, () => ({})));
    await assert.rejects(async () => app.ready(), /declares no scope|documents no answer/);
  }
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

test(
  'with the control store away the answer is 503 with Retry-After; the process still says that ' +
    'it is alive',
  async () => {
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
  },
);

test('metrics name routes, never what callers sent', async () => {
  await harness.request('GET', ownPath(), { key: own.key });
  const { text } = await harness.request('GET', '/metrics');
  assert.match(text, /route="\/api\/organizations\/:id\/"/);
  assert.doesNotMatch(text, new RegExp(own.organization.id));
});

test('bytes that are not HTTP, a whole URL in the request line and an unknown method are answered', async () => {
  await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = harness.app.server.address() as AddressInfo;
  const exchange = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let answer = '';
      const socket = connect(port, '127.0.0.1', () => socket.write(text));
      socket
        .on('data', (bytes) => (answer += bytes))
        .on('end', () => resolve(answer))
        .on('error', reject);
    });
  assert.match(await exchange('nonsense\r\n\r\n'), /^HTTP\/1.1 400 .*problem\+json/s);
  const request = (line: string) =>
    exchange(
      `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.key}\r\nConnection: close\r\n\r\n`,
    );
  assert.match(
    await request('GET http://elsewhere/api/organizations/?limit=1&offset=1'),
    /^HTTP\/1.1 200 [\s\S]*"previous":"http:\/\/127.0.0.1:8000\/api\/organizations\/\?limit=1&offset=0"/,
  );
  assert.match(await request('PROPFIND /api/organizations/'), /^HTTP\/1.1 40[45] /);
});

test('the address that a proxy names is believed only from a trusted one', async () => {
  for (const [trusted_proxies, ip] of [
    [[], '127.0.0.1'],
    [['127.0.0.0/8'], '203.0.113.9'],
    [['10.0.0.0/8'], '127.0.0.1'],
  ] as const) {
    const app = buildServer(
      {
        ...harness.deps,
        config: { ...harness.deps.config, trusted_proxies: [...trusted_proxies] },
      },
      (api) => {
        api.get('/api/whoami/', { config: { scope: 'public' } }, async (request) => ({
          ip: request.ip,
        }));
      },
    );
    const answer = await app.inject({
      url: '/api/whoami/',
      headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' },
    });
    assert.equal(answer.json().ip, ip);
    await app.close();
  }
});
