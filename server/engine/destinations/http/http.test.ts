import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import tls from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { contractColumns, parseExact } from '../../../../test/factories/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { deliverAgain, killDelivery } from '../../../../test/processes/killed_delivery.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import type { DestinationUnderTest } from '../../../../test/destinations/destination_world.ts';
import type { HttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { proxyCertificate } from '../../../../test/servers/postgres_proxy.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import type { Delivery } from '../../destination/destination.ts';
import { NonRetryableError } from '../../destination/errors.ts';
import type { HttpConfig } from './config.ts';
import { http } from './http.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = {
  log: silentLog(),
  outbound,
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};
const token = 'token-for-"tests"';
let receiver: HttpReceiver;
let secure: HttpReceiver;
let places = 0;

before(async () => {
  receiver = await openHttpReceiver({ token });
  secure = await openHttpReceiver({ tls: true });
});

after(async () => {
  await receiver.close();
  await secure.close();
  await outbound.close();
});

const freshConfig = (changes: Partial<HttpConfig> = {}): HttpConfig => ({
  url: `${receiver.url}/guarded/${(places += 1)}`,
  token,
  ...changes,
});
const pathOf = (config: HttpConfig) => new URL(config.url).pathname;

const secret = (bytes: number) => `whsec_${Buffer.alloc(bytes).toString('base64')}`;

const under: DestinationUnderTest = {
  definition: http,
  start: async () => deps,
  stop: async () => undefined,
  configure: async () =>
    freshConfig({
      headers: { 'X-Tenant-Key': 'a-header-that-only-tests-have' },
      signing_secret: secret(24),
    }),
  readBack: async (config) => receiver.taken(pathOf(config as HttpConfig)).map(rowOf),
  leftovers: async () => [],
  misconfigure: async (config) => [
    {
      name: 'wrong token',
      config: { ...config, token: 'wrong-token' },
      code: 'authentication_failed',
    },
    {
      name: 'nothing there',
      config: { ...config, url: `${receiver.url}/nothing` },
      code: 'endpoint_missing',
    },
    {
      name: 'no such host',
      config: { ...config, url: 'https://no-such-host.invalid/' },
      code: 'host_not_found',
    },
    {
      name: 'a private address',
      config: { ...config, url: 'https://10.0.0.1/' },
      code: 'outbound_refused',
    },
    {
      name: 'the metadata service',
      config: { ...config, url: 'http://169.254.169.254/latest' },
      code: 'outbound_refused',
    },
    {
      name: 'TLS is not offered',
      config: { ...config, url: receiver.url.replace('http:', 'https:') },
      code: 'tls_not_offered',
    },
    {
      name: 'certificate not verified',
      config: { ...config, url: secure.url },
      code: 'tls_not_verified',
    },
  ],
  invalid: [
    { name: 'no url', change: { url: undefined }, attr: 'url' },
    { name: 'url is a host', change: { url: 'example.com' }, attr: 'url' },
    { name: 'url of another protocol', change: { url: 'ftp://example.com' }, attr: 'url' },
    { name: 'url with a password', change: { url: 'https://a:b@example.com' }, attr: 'url' },
    { name: 'token is a number', change: { token: 7 }, attr: 'token' },
    { name: 'token with a line end', change: { token: 'a\r\nb' }, attr: 'token' },
    { name: 'header is a number', change: { headers: { a: 1 } }, attr: 'headers/a' },
    { name: 'name of a header with a blank', change: { headers: { 'a b': 'c' } }, attr: 'headers' },
    { name: 'header with a line end', change: { headers: { a: 'b\r\nc: d' } }, attr: 'headers' },
    {
      name: 'header of the request itself',
      change: { headers: { 'Content-Length': '1' } },
      attr: 'headers',
    },
    {
      name: 'header and token for the same',
      change: { headers: { Authorization: 'Basic x' } },
      attr: 'headers',
    },
    { name: 'unknown format', change: { body_format: 'XML' }, attr: 'body_format' },
    { name: 'unknown compression', change: { compression: 'lz4' }, attr: 'compression' },
    {
      name: 'no rows in a request',
      change: { max_request_records: 0 },
      attr: 'max_request_records',
    },
    {
      name: 'secret without its prefix',
      change: { signing_secret: 'secret' },
      attr: 'signing_secret',
    },
    { name: 'secret too short', change: { signing_secret: secret(23) }, attr: 'signing_secret' },
    { name: 'secret too long', change: { signing_secret: secret(65) }, attr: 'signing_secret' },
  ],
  damage: {
    changed: async () => undefined,
    value: async () => undefined,
    missing: async () => undefined,
    added: async () => undefined,
  },
  has_nul: true,
  recovers: true,
};
const contract = testDestination(under);

/**
 * A line in the form of the contract's rows: numbers that JavaScript would round are kept as text
 * by `parseExact`.
 */
function rowOf(line: string): Record<string, unknown> {
  const row = parseExact(line) as Record<string, unknown>;
  const text = (name: string) => String(row[name]).replace('number ', '');
  return {
    ...row,
    amount: text('amount'),
    ratio: row['ratio'] === null ? null : Number(text('ratio')),
  };
}

const expected = () => contract.expected();
const received = (config: HttpConfig) => contract.under.readBack(config);

function delivery(): Delivery {
  return { ...contract.delivery(), columns: contractColumns };
}

const lines = (...rows: string[]) =>
  Readable.from([Buffer.from(rows.map((row) => `${row}\n`).join(''))]);

async function write(config: HttpConfig, given: Delivery, bytes: Readable): Promise<void> {
  const sink = await http.open(config, given, deps);
  await sink.write({ number: 0, records: 1 }, bytes);
  await sink.close();
}

for (const body_format of ['JSONLines', 'JSONArray', 'Batch'] as const) {
  test(`delivers every value in order as ${body_format}, however it is compressed and parted`, async () => {
    for (const compression of [null, 'gzip', 'brotli', 'zstd'] as const) {
      const url = `${receiver.url}/open/${(places += 1)}`;
      const config: HttpConfig = {
        url,
        token,
        body_format,
        compression,
        max_request_records: 3,
        max_request_size_mb: 1,
      };
      const first = receiver.requests.length;
      await contract.deliver(config, delivery());
      assert.deepEqual(await received(config), expected());
      const requests = receiver.requests.slice(first);
      assert.ok(requests.length > 6);
      for (const { headers, body } of requests) {
        assert.equal(
          headers['content-type'],
          body_format === 'JSONLines' ? 'application/x-ndjson' : 'application/json',
        );
        assert.equal(
          headers.authorization,
          body_format === 'Batch' ? undefined : `Bearer ${token}`,
        );
        if (body_format === 'Batch')
          assert.ok(
            body.startsWith(
              `{"api_key":${JSON.stringify(token)},"historical_migration":true,"batch":[{`,
            ),
          );
      }
    }
  });
}

test('what is shown is the first request as it is sent, and holds no secret', async () => {
  const rows = ['{"n":1}', '{"n":2}', '{"n":3}'];
  for (const body_format of ['JSONLines', 'JSONArray', 'Batch'] as const) {
    for (const compression of [null, 'gzip'] as const) {
      const config = freshConfig({
        body_format,
        compression,
        max_request_records: 2,
        signing_secret: secret(32),
        headers: { 'X-Key': 'of-the-api' },
      });
      if (body_format === 'Batch') config.url = config.url.replace('guarded', 'open');
      const first = receiver.requests.length;
      await write(config, delivery(), lines(...rows));
      const sent = receiver.requests[first]!;
      const shown = await http.showRequest!(
        config,
        Buffer.from(rows.map((row) => `${row}\n`).join('')),
      );
      assert.deepEqual(
        [shown.format, shown.records, shown.compression],
        [body_format, 2, compression],
      );
      assert.equal(shown.text, sent.body.replace(JSON.stringify(token), '"********"'));
      assert.deepEqual(
        compression === null ? shown.body.toString() : gunzipSync(shown.body).toString(),
        shown.text,
      );
      for (const [name, value] of Object.entries(shown.headers)) {
        const received = sent.headers[name.toLowerCase()];
        assert.ok(
          value === received ||
            value === '(of the request)' ||
            (name === 'Authorization' && value === 'Bearer ********'),
          `${name}: ${value}`,
        );
      }
      const text = JSON.stringify(shown.headers) + shown.text;
      for (const hidden of [token, 'of-the-api', 'X-Key', config.signing_secret!])
        assert.ok(!text.includes(JSON.stringify(hidden).slice(1, -1)), hidden);
    }
  }
  assert.deepEqual(
    (await http.showRequest!(freshConfig({ body_format: 'JSONArray' }), Buffer.alloc(0))).records,
    0,
  );
});

test(
  'a repeat has the same keys, so that a receiver that knows them takes nothing twice; two ' +
    'deliveries have other keys',
  async () => {
    const config = freshConfig({ max_request_records: 4 });
    const given = delivery();
    await contract.deliver(config, given);
    await contract.deliver(config, { ...given, run_id: randomUUID(), attempt: 2 });
    assert.deepEqual(await received(config), expected());
    await contract.deliver(config, delivery());
    assert.equal((await received(config)).length, 2 * expected().length);
  },
);

test('other limits of a request between two attempts may double rows, but lose none', async () => {
  const config = freshConfig({ max_request_records: 2 });
  const given = delivery();
  const rows = ['1', '2', '3', '4', '5'];
  receiver.plan('take', { status: 400 });
  await assert.rejects(write(config, given, lines(...rows)));
  await write({ ...config, max_request_records: 3 }, given, lines(...rows));
  assert.deepEqual(receiver.taken(pathOf(config)), ['1', '2', '1', '2', '3', '4', '5']);
});

test('a slice that was acknowledged is not sent again by the next attempt, one that broke off is', async () => {
  const config = freshConfig({ max_request_records: 1 });
  const given = delivery();
  const dead = await contract.open(config, given);
  const first = await contract.write(dead, config, 0);
  receiver.plan('take', { status: 400 });
  await assert.rejects(contract.write(dead, config, 1), NonRetryableError);
  await dead.close();
  const sent = receiver.requests.length;
  const sink = await contract.open(config, { ...given, attempt: 2 });
  assert.equal(await sink.isCommitted(), false);
  assert.deepEqual(await sink.recover([first]), [first]);
  await contract.write(sink, config, 1);
  await sink.close();
  assert.deepEqual(await received(config), expected());
  assert.equal(receiver.requests.length - sent, expected().length - first.records);
});

test('an error of the source in the middle is thrown as it is, and no half row is sent', async () => {
  const config = freshConfig();
  const failure = new Error('the query failed');
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('1\n2');
      throw failure;
    })(),
  );
  await assert.rejects(write(config, delivery(), source), (error) => error === failure);
  assert.deepEqual(receiver.taken(pathOf(config)), []);
  await assert.rejects(
    write(config, delivery(), Readable.from([Buffer.from('1\n2')])),
    /middle of a line/,
  );
});

test('a certificate counts that a known authority has signed for the name', async () => {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), proxyCertificate]);
  const steps = await http.check(
    { url: secure.url.replace('127.0.0.1', 'localhost') },
    contractColumns,
    deps,
  );
  assert.deepEqual([...new Set(steps.map((step) => step.status))], ['passed']);
});

test('the connection test sends no row, and takes the refusal of nothing for a welcome', async () => {
  for (const body_format of ['JSONLines', 'JSONArray'] as const) {
    for (const answer of ['take', { status: 400 }, { status: 422 }] as const) {
      const config = freshConfig({ body_format });
      receiver.plan(answer);
      const steps = await http.check(config, contractColumns, deps);
      assert.ok(
        steps.length > 0 &&
          steps.every((step) => step.status === 'passed' && step.detail.endsWith('.')),
      );
      assert.deepEqual(receiver.taken(pathOf(config)), []);
    }
  }
});

test(
  'a worker that is killed in the middle or at the end leaves a delivery that the next one ' +
    'completes with the same keys',
  async () => {
    for (const place of ['writing', 'written'] as const) {
      const config: HttpConfig = {
        url: `${receiver.url}/open/${(places += 1)}`,
        max_request_records: 1,
      };
      const slices = [
        ['1', '2'],
        ['3', '4'],
      ].map((rows) => ({
        base64: Buffer.from(`${rows.join('\n')}\n`).toString('base64'),
        records: 2,
      }));
      const orders = { type: 'HTTP', config, delivery: delivery(), slices, place };
      await killDelivery(orders, { after_milliseconds: 0 });
      const taken = receiver.taken(pathOf(config));
      assert.ok(
        taken.join() === '1,2,3,4'.slice(0, taken.length * 2 - 1) &&
          taken.length >= (place === 'writing' ? 2 : 4),
        taken.join(),
      );
      assert.equal(await deliverAgain(http, orders, deps), false);
      assert.deepEqual(receiver.taken(pathOf(config)), ['1', '2', '3', '4']);
    }
  },
);
