import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { portFault } from './blocked_ports.ts';
import { openOutbound } from './outbound.ts';
import { OutboundRefused } from './outbound_faults.ts';
import { addressFault } from './plain_address.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';

const hostile = [
  '127.0.0.1',
  '127.255.255.254',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '168.63.129.16',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  'localhost',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  '100::1',
  '2001:db8::1',
  '2a00:1450::5efe:169.254.169.254',
  '2a00:1450::200:5efe:7f00:1',
];

const guard = openOutbound({ allow: [] });
const open = openOutbound({ allow: ['127.0.0.0/8', '::1'] });
let server: http.Server;
let origin: string;
const seen: http.IncomingHttpHeaders[] = [];

before(async () => {
  server = http.createServer((request, response) => {
    seen.push(request.headers);
    const [, kind, rest] = /^\/(\w+)\/?(.*)$/.exec(request.url ?? '') ?? [];
    if (kind === 'to') response.writeHead(302, { location: decodeURIComponent(rest ?? '') }).end();
    else if (kind === 'loop')
      response.writeHead(307, { location: `/loop/${Number(rest) + 1}` }).end();
    else if (kind === 'again')
      response.writeHead(307, { location: `/body/${request.headers['content-length']}` }).end();
    else if (kind === 'body') request.pipe(response);
    else response.end(`${request.method} ok`);
  });
  await listen(server);
  origin = urlOf(server);
});

after(async () => {
  await guard.close();
  await open.close();
  server.close();
});

for (const host of hostile) {
  test(`refuses ${host}`, async () => {
    await assert.rejects(
      guard.resolveHost(host),
      (error) => error instanceof OutboundRefused && /SLUICE_OUTBOUND_ALLOW/.test(error.message),
    );
    const inUrl = host.includes(':') ? `[${host}]` : host;
    await assert.rejects(guard.fetch(`http://${inUrl}:8099/`), OutboundRefused);
    const refused = await new Promise<Error>((resolve, reject) => {
      const request = http.request({ host, port: 8099, agent: guard.agents.http }, () =>
        reject(new Error('connected')),
      );
      request.on('error', resolve).end();
    }).catch((error: Error) => error);
    assert.ok(refused instanceof OutboundRefused, refused.message);
  });
}

test('a refusal names the setting to write, and not the address behind a name', async () => {
  const names: Record<string, string> = { localhost: '127.0.0.1', inside: '10.1.2.3' };
  const resolve = async (host: string) => [{ address: names[host]!, family: 4 }];
  const changeFor = async (allow: string[], host: string) => {
    const fresh = openOutbound({ allow, resolve });
    const told = await fresh.resolveHost(host).then(String, String);
    await fresh.close();
    return /the operator (.+) and restarts the server\.$/.exec(told)?.[1];
  };
  assert.deepEqual(
    await Promise.all([
      changeFor([], '127.0.0.1'),
      changeFor([], '::1'),
      changeFor([], 'localhost'),
      changeFor([], '10.1.2.3'),
      changeFor([], 'inside'),
      changeFor(['10.0.0.0/8'], '127.0.0.1'),
    ]),
    [
      'sets SLUICE_OUTBOUND_ALLOW=127.0.0.0/8',
      'sets SLUICE_OUTBOUND_ALLOW=::1',
      'sets SLUICE_OUTBOUND_ALLOW=127.0.0.0/8,::1',
      'sets SLUICE_OUTBOUND_ALLOW=10.1.2.3',
      'sets SLUICE_OUTBOUND_ALLOW=<its address>',
      'adds 127.0.0.0/8 to SLUICE_OUTBOUND_ALLOW',
    ],
  );
});

test('lets global addresses through', async () => {
  for (const host of [
    '8.8.8.8',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '[2606:4700:4700::1111]',
    '::ffff:8.8.8.8',
  ]) {
    assert.equal((await guard.resolveHost(host)).address, host.replace(/[[\]]/g, ''));
  }
});

test('the allow list opens exactly what it names', async () => {
  assert.equal((await open.resolveHost('127.0.0.1')).address, '127.0.0.1');
  assert.equal((await open.resolveHost('::ffff:127.0.0.1')).family, 6);
  assert.equal((await open.resolveHost('::1')).address, '::1');
  await assert.rejects(open.resolveHost('10.0.0.1'), OutboundRefused);
  assert.equal(await (await open.fetch(`${origin}/`)).text(), 'GET ok');
  await assert.rejects(guard.fetch(`${origin}/`), OutboundRefused);
});

test("an unknown name keeps the resolver's error", async () => {
  await assert.rejects(
    guard.resolveHost('no-such-host.invalid'),
    (error: NodeJS.ErrnoException) => error.syscall === 'getaddrinfo',
  );
});

test('refuses local sockets and other protocols', async () => {
  const [refused] = (await once(
    http.get({ socketPath: '/tmp/none', agent: guard.agents.http }),
    'error',
  )) as [Error];
  assert.ok(refused instanceof OutboundRefused);
  await assert.rejects(guard.fetch('file:///etc/passwd'), OutboundRefused);
});

test('a port that clients of HTTP block is refused in words, and no other', async () => {
  const { badPorts } = createRequire(import.meta.url)('undici/lib/web/fetch/constants.js') as {
    badPorts: string[];
  };
  const ports = Array.from({ length: 65_536 }, (_, port) => String(port));
  assert.deepEqual(
    ports.filter((port) => portFault({ port }) !== undefined),
    badPorts,
  );
  const message =
    'Port 9 is reserved for another protocol, so Sluice sends no requests to it. Use another port.';
  await assert.rejects(open.fetch('http://127.0.0.1:9/'), { name: 'OutboundRefused', message });
  assert.equal(addressFault('https://example.com:9/x'), message);
  assert.equal(addressFault('https://example.com:443/x'), undefined);
});

test('a connection to a name is refused by its address', async () => {
  await assert.rejects(guard.connect('localhost', 8099), OutboundRefused);
});

test('redirects are checked, counted and stripped of credentials', async () => {
  const away = (target: string) => `${origin}/to/${encodeURIComponent(target)}`;
  await assert.rejects(open.fetch(away('http://169.254.169.254/latest/')), OutboundRefused);
  await assert.rejects(open.fetch(away('gopher://127.0.0.1/')), OutboundRefused);
  await assert.rejects(open.fetch(`${origin}/loop/0`), /more than 5 times/);
  const headers = { authorization: 'Bearer secret', 'x-other': 'kept' };
  await open.fetch(away('/here'), { headers });
  assert.equal(seen.at(-1)?.authorization, 'Bearer secret');
  await open.fetch(away(`${origin.replace('127.0.0.1', 'localhost')}/there`), { headers });
  assert.equal(seen.at(-1)?.authorization, undefined);
  assert.equal(seen.at(-1)?.['x-other'], 'kept');
  assert.equal(
    await (await open.fetch(away('/post'), { method: 'POST', body: 'x' })).text(),
    'GET ok',
  );
});

test('a body of bytes is sent with its length and no copy, also after a redirect', async () => {
  for (const way of ['body', 'again']) {
    const body = Buffer.from('before');
    const answer = open.fetch(`${origin}/${way}/`, { method: 'PUT', body });
    // Nobody does so who waits for the answer; it shows that these are the bytes that go.
    body.write('behind');
    assert.equal(await (await answer).text(), 'behind', way);
    assert.equal(seen.at(-1)?.['content-length'], '6');
    assert.equal(seen.at(-1)?.['transfer-encoding'], undefined);
  }
  const nothing = await open.fetch(`${origin}/body/`, { method: 'PUT', body: Buffer.alloc(0) });
  assert.deepEqual([nothing.status, await nothing.text()], [200, '']);
});
