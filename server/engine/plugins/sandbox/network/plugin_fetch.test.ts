import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { never, openTestSandbox } from '../../../../../test/factories/plugins/plugin_sandbox.ts';
import type { TestSandbox } from '../../../../../test/factories/plugins/plugin_sandbox.ts';
import { openOutbound } from '../../../../platform/outbound/outbound.ts';
import { fetchForPlugin } from './plugin_fetch.ts';
import type { PluginRequest } from './plugin_fetch.ts';

// One server on an address that the operator allowed, one on an address that they did not.
const open = '127.0.0.2';
const closed = '127.0.0.3';
const outbound = openOutbound({ allow: [open] });
let base = '';
let inner = '';
let world: TestSandbox;
const seen: { url: string; method: string; headers: IncomingHttpHeaders; body: string }[] = [];
const servers: Server[] = [];

async function listen(host: string): Promise<number> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    request.on('end', () => {
      seen.push({ url: request.url!, method: request.method!, headers: request.headers, body });
      const { pathname, searchParams } = new URL(request.url!, 'http://x');
      const to = pathname === '/loop' ? '/loop' : searchParams.get('to');
      if (to !== null) return response.writeHead(302, { location: to }).end();
      if (pathname === '/large') return response.end(Buffer.alloc(6 * 1024 * 1024));
      if (pathname === '/never') return;
      response.writeHead(201, { 'x-a': 'b' }).end('häß');
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

before(async () => {
  base = `http://${open}:${await listen(open)}`;
  inner = `http://${closed}:${await listen(closed)}`;
  world = await openTestSandbox({}, [open]);
});
after(async () => {
  await world.close();
  await outbound.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

// The owner of the plugin allows all of them: what is refused is refused by the server's guard.
const named = [
  closed,
  'localhost',
  '127.0.0.1',
  '[::1]',
  '[::ffff:7f00:1]',
  '0.0.0.0',
  '169.254.169.254',
  '[fd00:ec2::254]',
  '10.0.0.1',
  '192.168.1.1',
  '100.64.0.1',
  'a.example',
  open,
];

const ask = (url: string, parts: Partial<PluginRequest> = {}, allowed = named, signal = never) =>
  fetchForPlugin(
    outbound,
    allowed,
    { url, method: 'GET', headers: [], body: null, ...parts },
    signal,
  );

const refused: [string, () => string][] = [
  ['loopback', () => inner],
  ['loopback by name', () => inner.replace(closed, 'localhost')],
  ['loopback as a number', () => 'http://2130706433/'],
  ['loopback as a hexadecimal number', () => 'http://0x7f000001/'],
  ['loopback in short', () => 'http://127.1/'],
  ['loopback in octal', () => 'http://0177.0.0.1/'],
  ['loopback of IPv6', () => 'http://[::1]/'],
  ['loopback within IPv6', () => 'http://[::ffff:127.0.0.1]/'],
  ['the unspecified address', () => 'http://0.0.0.0/'],
  ['the metadata address', () => 'http://169.254.169.254/latest/meta-data/'],
  ['the metadata address of IPv6', () => 'http://[fd00:ec2::254]/'],
  ['a private network', () => 'http://10.0.0.1/'],
  ['another private network', () => 'http://192.168.1.1/'],
  ['a carrier network', () => 'http://100.64.0.1/'],
  ['a redirect to loopback', () => `${base}/?to=${encodeURIComponent(inner)}`],
  ['a redirect to the metadata address', () => `${base}/?to=http://169.254.169.254/`],
  ['a redirect to another scheme', () => `${base}/?to=file:///etc/passwd`],
  ['redirects without end', () => `${base}/loop`],
  ['a file', () => 'file:///etc/passwd'],
  ['data', () => 'data:text/plain,a'],
  ['ftp', () => 'ftp://a.example/'],
  ['gopher', () => 'gopher://a.example/'],
  ['a user in the URL', () => base.replace('http://', 'http://ada:secret@')],
  ['no URL', () => 'not a url'],
];

for (const [name, url] of refused) {
  test(`refuses ${name}`, async () => {
    const before_inner = seen.length;
    await assert.rejects(
      ask(url()),
      (error: Error) =>
        error.name === 'OutboundRefused' && !error.message.includes('may not reach'),
    );
    assert.ok(
      !seen.slice(before_inner).some(({ headers }) => headers.host === new URL(inner).host),
      'the inner server was asked',
    );
  });
}

const hosts: [string, string[], boolean][] = [
  ['a.example', ['a.example'], true],
  ['A.EXAMPLE', ['a.example'], true],
  ['a.example', ['A.Example'], true],
  ['a.example:8443', ['a.example'], true],
  ['b.a.example', ['a.example'], false],
  ['b.a.example', ['*.a.example'], true],
  ['a.example', ['*.a.example'], false],
  ['bada.example', ['*.a.example'], false],
  ['a.example.evil.example', ['a.example'], false],
  ['a.example', [], false],
  ['a.example', ['*'], false],
  ['a.example', ['*.'], false],
];
test('lets through the hosts that the owner of the plugin allows', async () => {
  for (const [host, allowed, isAllowed] of hosts) {
    const asked: string[] = [];
    const stand_in = {
      fetch: async (url: string | URL) => (asked.push(String(url)), new Response('')),
    } as unknown as Parameters<typeof fetchForPlugin>[0];
    const work = fetchForPlugin(
      stand_in,
      allowed,
      { url: `https://${host}/`, method: 'GET', headers: [], body: null },
      never,
    );
    if (isAllowed) await work;
    else await assert.rejects(work, /may not reach/, `${host} with ${allowed.join()}`);
    assert.equal(asked.length, isAllowed ? 1 : 0, `${host} with ${allowed.join()}`);
  }
});

test('writes no header of the client’s, and none that would be two', async () => {
  for (const name of [
    'host',
    'Content-Length',
    'transfer-encoding',
    'connection',
    'proxy-authorization',
  ]) {
    await assert.rejects(ask(base, { headers: [[name, '1']] }), { name: 'OutboundRefused' }, name);
  }
  for (const header of [
    ['x-a', '1\r\nx-b: 2'],
    ['x-a\r\nx-b', '1'],
    ['x a', '1'],
  ] as [string, string][])
    await assert.rejects(ask(base, { headers: [header] }), TypeError);
});

test('bounds size and time', async () => {
  await assert.rejects(ask(`${base}/large`), RangeError);
  const control = new AbortController();
  const waiting = ask(`${base}/never`, {}, named, control.signal);
  control.abort(new Error('over'));
  await assert.rejects(waiting, /over/);
});

test('follows a redirect of GET within the rules, with credentials to the same host', async () => {
  seen.length = 0;
  await ask(`${base}/?to=/there`, { headers: [['authorization', 'secret']] });
  assert.deepEqual(
    seen.map(({ url, headers }) => [url, headers.authorization]),
    [
      ['/?to=/there', 'secret'],
      ['/there', 'secret'],
    ],
  );
  await assert.rejects(ask(`${base}/?to=http://b.example/`, {}, [open]), /may not reach b.example/);
  const answer = await ask(`${base}/?to=/there`, { method: 'POST', body: '' });
  assert.equal(answer.status, 302);
});

test('follows no redirect from https to http, nor one without an address', async () => {
  const asked: string[] = [];
  const stand_in = (location: string) => ({
    fetch: async (url: string | URL) => {
      asked.push(String(url));
      return new Response(null, { status: 302, headers: { location } }) as never;
    },
  });
  const request: PluginRequest = {
    url: 'https://a.example/',
    method: 'GET',
    headers: [],
    body: null,
  };
  for (const [location, said] of [
    ['http://a.example/', /from https to http/],
    ['https://a b/', /cannot be read/],
  ] as const)
    await assert.rejects(
      fetchForPlugin(stand_in(location), ['a.example'], request, never),
      (error: Error) => error.name === 'OutboundRefused' && said.test(error.message),
    );
  assert.deepEqual(asked, ['https://a.example/', 'https://a.example/']);
});

test('a plugin fetches: text, JSON and bytes, both ways', async () => {
  seen.length = 0;
  const { plugin } = await world.load(`
    export async function onEvent(base) {
      const first = await fetch(base + '/a?b=ü', {
        method: 'post',
        headers: { 'X-C': 'd' },
        body: JSON.stringify({ e: 'ß' }),
      });
      const bytes = await fetch(base, { method: 'PUT', body: new Uint8Array([0, 255, 128]) });
      await fetch(new URL(base), { method: 'POST', body: new URLSearchParams({ f: 'g h' }) });
      return [
        first.status,
        first.ok,
        first.headers.get('X-A'),
        await first.text(),
        (await bytes.arrayBuffer()).byteLength,
      ];
    }`);
  assert.deepEqual(await plugin.call('onEvent', base, never), [201, true, 'b', 'häß', 5]);
  assert.deepEqual(
    seen.map(({ url, method, body }) => [url, method, body]),
    [
      ['/a?b=%C3%BC', 'POST', Buffer.from('{"e":"ß"}').toString('latin1')],
      ['/', 'PUT', '\0\xff\x80'],
      ['/', 'POST', 'f=g+h'],
    ],
  );
  assert.equal(seen[0]!.headers['x-c'], 'd');
  await plugin.close();
});

test('a plugin hears why it cannot reach something', async () => {
  const { plugin } = await world.load(
    'export const onEvent = (url) => fetch(url, { headers: url.endsWith("9/") ? { a: "b\\nc" } : ' +
      '{} }).then((r) => r.status, (error) => [error.name, error.message]);',
    {
      allowed_hosts: [open],
    },
  );
  assert.deepEqual(await plugin.call('onEvent', 'http://b.example/', never), [
    'Error',
    'The plugin may not reach b.example: add it to the allowed hosts of the plugin.',
  ]);
  // No answer is another matter than a request that cannot be sent: the one comes again.
  assert.deepEqual(await plugin.call('onEvent', `http://${open}:2/`, never), [
    'FetchError',
    'The request failed: ECONNREFUSED.',
  ]);
  assert.deepEqual(await plugin.call('onEvent', `http://${open}:9/`, never), [
    'Error',
    'Port 9 is reserved for another protocol, so Sluice sends no requests to it. Use another port.',
  ]);
  await plugin.close();
});
