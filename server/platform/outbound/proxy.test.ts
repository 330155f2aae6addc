import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { after, before, test } from 'node:test';
import tls from 'node:tls';
import { certificate, certificate_key } from '../../../test/servers/certificate.ts';
import { startConnectProxy } from '../../../test/servers/connect_proxy.ts';
import type { ConnectProxy } from '../../../test/servers/connect_proxy.ts';
import { listenLocally } from '../../../test/servers/loopback.ts';
import type { LocalServer } from '../../../test/servers/loopback.ts';
import { isWithoutProxy } from './no_proxy.ts';
import { openOutbound } from './outbound.ts';
import type { Outbound, OutboundOptions } from './outbound.ts';
import { OutboundRefused, ProxyFault } from './outbound_faults.ts';

const credentials = 'sluice:p@ss%word';
const encoded = 'sluice:p%40ss%25word';
const public_address = '93.184.216.34';
const names: Record<string, string[]> = {
  localhost: ['127.0.0.1'],
  'public.example': [public_address],
  'two.example': ['2606:4700:4700::1111', public_address],
  'inside.example': ['10.1.2.3'],
  'both.example': [public_address, '169.254.169.254'],
};

let proxy: ConnectProxy;
let plain: LocalServer;
let encrypted: LocalServer;
const opened: Outbound[] = [];
const seen: { host: string | undefined; servername: unknown }[] = [];

function open(options: Partial<OutboundOptions['proxies']> = {}): Outbound {
  const url = `http://${encoded}@127.0.0.1:${proxy.port}`;
  const outbound = openOutbound({
    allow: [],
    proxies: { https: url, http: url, without: [], connect_by: 'address', ...options },
    resolve: async (host) =>
      (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });
  opened.push(outbound);
  return outbound;
}

function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  const { servername } = request.socket as tls.TLSSocket;
  seen.push({ host: request.headers.host, servername });
  response.end(request.headers['proxy-authorization'] ?? 'arrived');
}

before(async () => {
  proxy = await startConnectProxy({ credentials });
  plain = await listenLocally(http.createServer(answer));
  encrypted = await listenLocally(
    https.createServer({ cert: certificate, key: certificate_key }, answer),
  );
  proxy.targets = {
    [`${public_address}:8080`]: plain.port,
    [`${public_address}:443`]: encrypted.port,
    'public.example:443': encrypted.port,
  };
});

after(async () => {
  for (const outbound of opened) await outbound.close();
  for (const server of [proxy, plain, encrypted]) await server.close();
});

function ask(outbound: Outbound, url: string): Promise<string> {
  const { protocol } = new URL(url);
  const agent = outbound.openAgent(protocol as 'https:', { rejectUnauthorized: false });
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? https : http).get(url, { agent }, (response) => {
      let text = '';
      response.on('data', (piece) => (text += piece)).on('end', () => resolve(text));
    });
    request.on('error', reject);
  }).finally(() => agent.destroy()) as Promise<string>;
}

test('fetch and agents connect through the proxy to the address that was checked', async () => {
  const outbound = open();
  proxy.asked = [];
  const answers = [
    await (await outbound.fetch('http://public.example:8080/')).text(),
    await ask(outbound, 'http://public.example:8080/'),
    await ask(outbound, 'https://public.example/'),
  ];
  assert.deepEqual(answers, ['arrived', 'arrived', 'arrived']);
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  assert.deepEqual(proxy.asked, [
    { target: `${public_address}:8080`, authorization },
    { target: `${public_address}:8080`, authorization },
    { target: `${public_address}:443`, authorization },
  ]);
  // Host and server name stay those of the target.
  assert.deepEqual(seen.splice(0), [
    { host: 'public.example:8080', servername: undefined },
    { host: 'public.example:8080', servername: undefined },
    { host: 'public.example', servername: 'public.example' },
  ]);
});

test("the target's certificate is checked, whatever the proxy is", async () => {
  await assert.rejects(
    open().fetch('https://public.example/'),
    (error: Error) => (error.cause as { code?: string }).code === 'DEPTH_ZERO_SELF_SIGNED_CERT',
  );
});

test('TLS of a library runs through the proxy', async () => {
  const socket = tls.connect({
    socket: await open().connect('public.example', 443),
    servername: 'public.example',
    ca: certificate,
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  assert.equal(socket.authorized, true);
  socket.destroy();
});

test('a proxy is asked for a name where the operator wants it', async () => {
  proxy.asked = [];
  assert.equal(await ask(open({ connect_by: 'name' }), 'https://public.example/'), 'arrived');
  assert.deepEqual(
    proxy.asked.map(({ target }) => target),
    ['public.example:443'],
  );
});

test('the proxy is asked for the next address if one cannot be reached', async () => {
  proxy.targets[`[2606:4700:4700::1111]:8080`] = plain.port;
  const moved = proxy.targets[`${public_address}:8080`]!;
  delete proxy.targets[`${public_address}:8080`];
  proxy.asked = [];
  assert.equal(await (await open().fetch('http://two.example:8080/')).text(), 'arrived');
  assert.deepEqual(
    proxy.asked.map(({ target }) => target),
    [`${public_address}:8080`, '[2606:4700:4700::1111]:8080'],
  );
  proxy.targets[`${public_address}:8080`] = moved;
});

test('the proxy is never asked for an address that the guard refuses', async () => {
  proxy.asked = [];
  for (const outbound of [open(), open({ connect_by: 'name' })])
    for (const host of [
      'inside.example',
      'both.example',
      'localhost',
      '10.1.2.3',
      '169.254.169.254',
      '[::1]',
    ]) {
      await assert.rejects(outbound.fetch(`https://${host}/`), OutboundRefused, host);
      await assert.rejects(ask(outbound, `https://${host}/`), OutboundRefused, host);
      await assert.rejects(outbound.connect(host, 443), OutboundRefused, host);
    }
  assert.deepEqual(proxy.asked, []);
});

test('a fault of the proxy is named, without its address and its password', async () => {
  const cases: [ConnectProxy['instead'], RegExp, ProxyFault['code']][] = [
    [407, /^The proxy of .* refused its user or password \(407\)\. /, 'proxy_failed'],
    [401, /^The proxy of .* refused its user or password \(401\)\. /, 'proxy_failed'],
    [403, /^The proxy of .* does not let connections to this host/, 'proxy_refused'],
    [405, /^The proxy of .* does not let connections to this host/, 'proxy_refused'],
    [502, /^The proxy of .* could not reach the host \(it answered 502\)/, 'proxy_failed'],
    [504, /^The proxy of .* could not reach the host \(it answered 504\)/, 'proxy_failed'],
    ['end', /^The proxy of .* closed the connection without an answer/, 'proxy_failed'],
    ['nonsense', /^The proxy of .* does not speak the protocol of its URL/, 'proxy_failed'],
  ];
  for (const [instead, expected, code] of cases) {
    proxy.instead = instead;
    const outbound = open();
    for (const way of [
      () => outbound.fetch('https://public.example/'),
      () => ask(outbound, 'https://public.example/'),
      () => outbound.connect('public.example', 443),
    ])
      await assert.rejects(way, (error) => isTold(error, expected, code), String(instead));
  }
  proxy.instead = undefined;
  const other = open({ https: `http://sluice:wrong-one@127.0.0.1:${proxy.port}` });
  await assert.rejects(other.fetch('https://public.example/'), (error) =>
    isTold(error, /user or password \(407\)/, 'proxy_failed'),
  );
});

function isTold(error: unknown, expected: RegExp, code: string): boolean {
  assert.ok(error instanceof ProxyFault, String(error));
  assert.match(error.message, expected);
  assert.equal(error.code, code);
  assert.doesNotMatch(error.message, /p@ss|p%40ss|wrong-one|127\.0\.0\.1|Basic/);
  return true;
}

test('a proxy that is away, silent or not verified is named', async (t) => {
  const gone = await startConnectProxy();
  await gone.close();
  const cases: [string, RegExp][] = [
    [`http://127.0.0.1:${gone.port}`, /cannot be reached \(ECONNREFUSED\)/],
    ['http://no-such-host.invalid:3128', /host name that cannot be looked up/],
  ];
  const own = await startConnectProxy({ is_tls: true });
  t.after(() => own.close());
  cases.push([`https://localhost:${own.port}`, /has a certificate that cannot be verified/]);
  cases.push([`https://127.0.0.1:${proxy.port}`, /does not speak the protocol of its URL/]);
  for (const [https, expected] of cases)
    await assert.rejects(open({ https }).fetch('https://public.example/'), (error) =>
      isTold(error, expected, 'proxy_failed'),
    );
  proxy.instead = 'silence';
  await assert.rejects(open({ answer_ms: 200 }).fetch('https://public.example/'), (error) =>
    isTold(error, /did not answer within 0.2 seconds/, 'proxy_failed'),
  );
  proxy.instead = undefined;
});

test('a protocol without a proxy and a host of the list are reached directly', async () => {
  proxy.asked = [];
  const allow = ['127.0.0.0/8'];
  const https = `http://127.0.0.1:${proxy.port}`;
  for (const proxies of [
    { https, without: [], connect_by: 'address' as const },
    { https, http: https, without: [], connect_by: 'address' as const },
  ]) {
    const outbound = openOutbound({ allow, proxies });
    opened.push(outbound);
    const url = `http://127.0.0.1:${plain.port}/`;
    assert.equal(await (await outbound.fetch(url)).text(), 'arrived');
    assert.equal(await ask(outbound, url), 'arrived');
  }
  assert.deepEqual(proxy.asked, []);
});

const target = (host: string, address = public_address, port = 443) => ({
  host,
  addresses: [address],
  port,
});
const without: [string, ReturnType<typeof target>, boolean][] = [
  ['', target('a.example'), false],
  ['*', target('a.example'), true],
  ['a.example', target('a.example'), true],
  ['a.example', target('A.Example.'), true],
  ['a.example', target('b.a.example'), true],
  ['.a.example', target('b.a.example'), true],
  ['*.a.example', target('b.a.example'), true],
  ['a.example', target('ba.example'), false],
  ['a.example:443', target('a.example'), true],
  ['a.example:80', target('a.example'), false],
  [public_address, target(public_address), true],
  [public_address, target('a.example'), true],
  [`${public_address}:443`, target('a.example'), true],
  ['10.0.0.0/8', target('a.example', '10.1.2.3'), true],
  ['10.0.0.0/8', target('a.example', '::ffff:10.1.2.3'), true],
  ['10.0.0.0/8', target('a.example'), false],
  ['fd00::/8', target('a.example', 'fd00::1'), true],
  ['fd00::1', target('a.example', 'fd00:0::1'), true],
  ['[fd00::1]:443', target('a.example', 'fd00::1'), true],
  ['', target('localhost', '127.0.0.1'), true],
  ['', target('a.example', '::1'), true],
];

test('the list of hosts without a proxy', () => {
  for (const [entries, asked, expected] of without)
    assert.equal(
      isWithoutProxy(entries.split(',').filter(Boolean), asked),
      expected,
      JSON.stringify([entries, asked]),
    );
});
