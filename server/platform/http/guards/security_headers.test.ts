import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newPerson, trySignIn } from '../../../../test/factories/people/people.ts';
import { openHarness, shareHarness } from '../../../../test/harness.ts';
import type { Harness } from '../../../../test/harness.ts';
import { hostFault } from './host_header.ts';

const plain = shareHarness({ clickhouse: false });
const day_ms = 24 * 3_600_000;
const secure = aroundTests(
  () =>
    openHarness({
      clickhouse: false,
      config: { public_url: 'https://example.com/sluice' },
    }),
  ({ app }) => app.listen({ host: '127.0.0.1', port: 0 }),
);
const hsts = 'max-age=31536000; includeSubDomains';

/** Returns the server's answer to these bytes, until it ends the connection. */
async function send(lines: string[]): Promise<string> {
  const { port } = secure.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  socket.end([...lines, '', ''].join('\r\n'));
  await once(socket, 'close');
  return text;
}

test('over https every answer keeps browsers to https, whoever gives it', async () => {
  for (const path of ['/api/organizations/', '/api/nothing/', '/', '/docs/', '/batch/', '/login'])
    assert.equal(
      (await secure.request('GET', path)).headers['strict-transport-security'],
      hsts,
      path,
    );
  for (const lines of [
    ['GET /%zz HTTP/1.1', 'Host: a', 'Connection: close'],
    ['GET / HTTP/1.1', 'no header at all'],
    ['GET /api/organizations/ HTTP/1.1', 'Connection: close'],
  ]) {
    const answer = (await send(lines)).toLowerCase();
    assert.match(answer, /^http\/1\.1 40[04] /, lines[0]);
    for (const header of [hsts.toLowerCase(), 'x-content-type-options: nosniff'])
      assert.ok(answer.includes(header), answer);
  }
  const { headers } = await plain.request('GET', '/api/organizations/');
  assert.equal(headers['strict-transport-security'], undefined);
});

test('RFC 9112: one Host header that names a host, and in HTTP/1.0 none may do', async () => {
  const status = async (version: string, ...hosts: string[]) => {
    const lines = hosts.map((host) => `Host: ${host}`);
    const answer = await send([
      `GET /api/organizations/ HTTP/${version}`,
      ...lines,
      'Connection: close',
    ]);
    return Number(answer.split(' ')[1]);
  };
  for (const host of ['example.com', 'EXAMPLE.com:8000', '[::1]:80', '', 'a_b', 'xn--e1afmkfd'])
    assert.equal(await status('1.1', host), 401, host);
  for (const host of ['a b', 'a/b', 'a,b.example:x', 'a@b', '[::1', 'http://a'])
    assert.equal(await status('1.1', host), 400, host);
  assert.equal(await status('1.1'), 400);
  assert.equal(await status('1.0'), 401);
  assert.equal(await status('1.1', 'a', 'a'), 400);
  assert.equal(await status('1.0', 'a', 'b'), 400);
  const rawHeaders = ['hOsT', 'a', 'X', 'host', 'HOST', 'b'];
  assert.match(hostFault({ rawHeaders, httpVersion: '1.1' })!, /several/);
});

test('nobody keeps an answer with a secret, nor one that signs a browser in', async () => {
  const own = await plain.newOrganization();
  const cookie = await plain.newSession(own.user);
  const cached = async (method: string, path: string, body?: object, key?: string) => {
    const headers: Record<string, string> = key === undefined ? { cookie } : {};
    const answer = await plain.request(method, path, {
      headers,
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    });
    return `${answer.status} ${answer.headers['cache-control']}`;
  };
  const key_body = { label: 'a', scopes: ['*'] };
  assert.equal(await cached('POST', '/api/personal_api_keys/', key_body), '201 no-store');
  assert.equal(await cached('POST', '/api/personal_api_keys/', {}), '400 no-store');
  assert.equal(await cached('GET', '/api/personal_api_keys/'), '200 private, no-cache');
  const write_keys = `/api/projects/${own.project.id}/write_keys/`;
  assert.equal(await cached('POST', write_keys, { name: 'a' }, own.key), '201 no-store');
  const { email } = await newPerson(plain);
  assert.equal((await trySignIn(plain, email)).headers['cache-control'], 'no-store');
});

test('an answer with a replaced token is not cached', async () => {
  let now = Date.now();
  const clocked = await openHarness({ clickhouse: false, deps: { clock: { now: () => now } } });
  try {
    const { user } = await clocked.newOrganization();
    const headers = { cookie: await clocked.newSession(user) };
    now += 2 * day_ms;
    const answer = await clocked.request('GET', '/api/users/@me/', { headers });
    assert.ok(answer.headers['set-cookie']);
    assert.equal(answer.headers['cache-control'], 'no-store');
  } finally {
    await clocked.close();
  }
});

test('signing out lets the browser forget, and below a path only what is ours alone', async () => {
  const leave = async (harness: Harness) => {
    const { user } = await harness.newOrganization();
    const signedIn = async () => {
      const cookie = await harness.newSession(user);
      return { cookie: harness === secure ? `__Host-${cookie}` : cookie };
    };
    const headers = await signedIn();
    const { body } = await harness.request('GET', '/api/sessions/@current/', {
      headers: await signedIn(),
    });
    const path = `/api/sessions/${body.id}/`;
    const elsewhere = await harness.request('DELETE', path, { headers });
    assert.equal(elsewhere.headers['clear-site-data'], undefined);
    const out = await harness.request('DELETE', '/api/sessions/@current/', { headers });
    assert.equal(out.status, 204);
    return out.headers['clear-site-data'];
  };
  assert.equal(await leave(plain), '"cache", "storage"');
  assert.equal(await leave(secure), '"cache"');
});
