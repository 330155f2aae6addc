import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { error_codes } from './error_codes.ts';
import { buildServer } from './server.ts';
import { aroundTests } from '../../../test/around_tests.ts';

let own: TestOrganization;
const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    own = await opened.newOrganization();
  },
);

const list = '/api/organizations/';
const ownPath = () => `${list}${own.organization.id}/`;

test('without its slash a path redirects with 308, keeping query and method', async () => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    const answer = await harness.request(method, `${ownPath().slice(0, -1)}?a=1&b=%20x`);
    assert.equal(answer.status, 308);
    assert.equal(answer.headers['location'], `${ownPath()}?a=1&b=%20x`);
  }
  const counted = await harness.deps.metrics.registry.metrics();
  assert.ok(counted.includes('method="PATCH",route="/api/organizations/:id",status="308"'));
});

test('every error has the one body, with the request id that is in the header', async () => {
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
  const odd = { headers: { 'content-type': 'nonsense' }, body: '{}' };
  assert.equal((await harness.request('PATCH', '/api/nothing/', odd)).status, 404);
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
  const wrong = await own.ask('DELETE', list);
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers['allow'], 'GET, HEAD, POST, OPTIONS');
  const options = await harness.request('OPTIONS', ownPath());
  assert.equal(options.status, 204);
  assert.equal(options.headers['allow'], 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS');
  const odd = { headers: { 'content-type': 'nonsense' }, body: '{}' };
  assert.equal((await harness.request('OPTIONS', ownPath(), odd)).status, 204);
  assert.equal((await harness.request('PUT', list, odd)).status, 405);
  const [head, get] = [await own.ask('HEAD', ownPath()), await own.ask('GET', ownPath())];
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['etag'], get.headers['etag']);
  assert.equal(head.headers['content-length'], get.headers['content-length']);
  assert.equal((await harness.request('HEAD', ownPath())).status, 401);
});

test('Accept without JSON is 406; wildcards and quality values are understood', async () => {
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
    const { body, status } = await stranger.ask('GET', path);
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

test('a list has an ETag as well, which changes with what is in it', async () => {
  const { organization, key } = await harness.newOrganization();
  const ask = (headers: Record<string, string> = {}) =>
    harness.request('GET', list, { key, headers });
  const tag = (await ask()).headers['etag']!;
  const same = await ask({ 'if-none-match': tag });
  assert.deepEqual([same.status, same.text], [304, '']);
  const path = `${list}${organization.id}/`;
  await harness.request('PATCH', path, { key, body: { name: 'Another' } });
  const other = await ask({ 'if-none-match': tag });
  assert.equal(other.status, 200);
  assert.notEqual(other.headers['etag'], tag);
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

test('one of two concurrent changes with the same If-Match is 412', async () => {
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
