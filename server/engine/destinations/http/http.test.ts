import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import tls from 'node:tls';
import fc from 'fast-check';
import { contractColumns, parseExact } from '../../../../test/contract_rows.ts';
import { Contract } from '../../../../test/destination_world.ts';
import { openHttpReceiver } from '../../../../test/http_receiver.ts';
import type { Answer, HttpReceiver } from '../../../../test/http_receiver.ts';
import { proxyCertificate } from '../../../../test/postgres_proxy.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound.ts';
import type { Delivery } from '../../destination.ts';
import { NonRetryableError, RetryableError } from '../../destination.ts';
import { bodiesOf } from './bodies.ts';
import type { HttpConfig } from './config.ts';
import { openEndpoint } from './endpoint.ts';
import { http } from './http.ts';
import { openHttpSink } from './sink.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = { log: silentLog(), outbound, export_dir: '/nowhere', signal: new AbortController().signal };
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

const freshConfig = (changes: Partial<HttpConfig> = {}): HttpConfig => ({ url: `${receiver.url}/guarded/${(places += 1)}`, token, ...changes });
const pathOf = (config: HttpConfig) => new URL(config.url).pathname;

const contract = new Contract({
  definition: http,
  start: async () => deps,
  stop: async () => undefined,
  configure: async () => freshConfig(),
  readBack: async (config) => receiver.taken(pathOf(config as HttpConfig)).map(rowOf),
  leftovers: async () => [],
  misconfigure: async () => [],
  invalid: [],
  damage: { changed: async () => undefined, missing: async () => undefined, added: async () => undefined },
  has_nul: true,
  recovers: true,
});
before(() => contract.start());
after(() => contract.stop());

/** A line in the form of the contract's rows: numbers that JavaScript would round are kept as text by `parseExact`. */
function rowOf(line: string): Record<string, unknown> {
  const row = parseExact(line) as Record<string, unknown>;
  const text = (name: string) => String(row[name]).replace('number ', '');
  return { ...row, amount: text('amount'), ratio: row['ratio'] === null ? null : Number(text('ratio')) };
}

const expected = () => contract.expected();
const received = (config: HttpConfig) => contract.under.readBack(config);

function delivery(): Delivery {
  return { ...contract.delivery(), columns: contractColumns };
}

const lines = (...rows: string[]) => Readable.from([Buffer.from(rows.map((row) => `${row}\n`).join(''))]);

/** A sink whose pauses are noted instead of waited for. */
function patientSink(config: HttpConfig, given: Delivery, signal = deps.signal) {
  const pauses: number[] = [];
  const pause = async (milliseconds: number) => void pauses.push(milliseconds);
  const endpoint = openEndpoint(config, { outbound, signal, clock: { now: () => Date.UTC(2026, 0, 1) }, pause });
  return { sink: openHttpSink(config, given, endpoint), pauses };
}

for (const body_format of ['JSONLines', 'JSONArray', 'Batch'] as const) {
  test(`delivers every value in order as ${body_format}, however it is compressed and parted`, async () => {
    for (const compression of [null, 'gzip', 'brotli', 'zstd'] as const) {
      const url = `${receiver.url}/open/${(places += 1)}`;
      const config: HttpConfig = { url, token, body_format, compression, max_request_records: 3, max_request_size_mb: 1 };
      const first = receiver.requests.length;
      await contract.deliver(config, delivery());
      assert.deepEqual(await received(config), expected());
      const requests = receiver.requests.slice(first);
      assert.ok(requests.length > 6);
      for (const { headers, body } of requests) {
        assert.equal(headers['content-type'], body_format === 'JSONLines' ? 'application/x-ndjson' : 'application/json');
        assert.equal(headers.authorization, body_format === 'Batch' ? undefined : `Bearer ${token}`);
        if (body_format === 'Batch') assert.ok(body.startsWith(`{"api_key":${JSON.stringify(token)},"historical_migration":true,"batch":[{`));
      }
    }
  });
}

test('a repeat has the same keys, so that a receiver that knows them takes nothing twice; two deliveries have other keys', async () => {
  const config = freshConfig({ max_request_records: 4 });
  const given = delivery();
  await contract.deliver(config, given);
  await contract.deliver(config, { ...given, run_id: randomUUID(), attempt: 2 });
  assert.deepEqual(await received(config), expected());
  await contract.deliver(config, delivery());
  assert.equal((await received(config)).length, 2 * expected().length);
});

test('other limits of a request between two attempts may double rows, but lose none', async () => {
  const config = freshConfig({ max_request_records: 2 });
  const given = delivery();
  const rows = ['1', '2', '3', '4', '5'];
  receiver.plan('take', { status: 400 });
  await assert.rejects(patientSink(config, given).sink.write({ number: 0, records: 5 }, lines(...rows)));
  await patientSink({ ...config, max_request_records: 3 }, given).sink.write({ number: 0, records: 5 }, lines(...rows));
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
  const { sink } = patientSink(config, delivery());
  await assert.rejects(sink.write({ number: 0, records: 2 }, source), (error) => error === failure);
  assert.deepEqual(receiver.taken(pathOf(config)), []);
  await assert.rejects(sink.write({ number: 0, records: 2 }, Readable.from([Buffer.from('1\n2')])), /middle of a line/);
});

test('what passes is tried again with the same key, after the pause that the endpoint asks for', async () => {
  const cases: { answers: Answer[]; pauses: number[]; requests: number }[] = [
    { answers: [{ status: 503 }, { status: 500 }, 'cut', { status: 408 }], pauses: [1000, 2000, 4000, 8000], requests: 5 },
    {
      answers: [
        { status: 429, headers: { 'Retry-After': '7' } },
        { status: 503, headers: { 'Retry-After': '0' } },
      ],
      pauses: [7000, 0],
      requests: 3,
    },
    { answers: [{ status: 429, headers: { 'Retry-After': 'Thu, 01 Jan 2026 00:00:09 GMT' } }], pauses: [9000], requests: 2 },
    { answers: [{ status: 429, headers: { 'Retry-After': 'Wed, 31 Dec 2025 23:00:00 GMT' } }], pauses: [0], requests: 2 },
    { answers: [{ status: 429, headers: { 'Retry-After': 'soon' } }], pauses: [1000], requests: 2 },
    { answers: ['take and cut'], pauses: [1000], requests: 2 },
  ];
  for (const { answers, pauses, requests } of cases) {
    const config = freshConfig();
    const { sink, pauses: waited } = patientSink(config, delivery());
    const sent = receiver.requests.length;
    receiver.plan(...answers);
    assert.deepEqual((await sink.write({ number: 0, records: 1 }, lines('{"a":1}'))).state, { requests: 1 });
    assert.deepEqual(waited, pauses);
    assert.deepEqual(receiver.taken(pathOf(config)), ['{"a":1}']);
    const keys = receiver.requests.slice(sent).map((request) => request.headers['idempotency-key']);
    assert.equal(keys.length, requests);
    assert.equal(new Set(keys).size, 1);
  }
});

test('what does not pass ends the attempt: after five tries, at once for what is wrong, and for a pause that is too long', async () => {
  const cases: { answers: Answer[]; code: string; isRetryable: boolean; requests: number }[] = [
    { answers: Array.from({ length: 5 }, () => ({ status: 503 })), code: 'store_fault', isRetryable: true, requests: 5 },
    { answers: Array.from({ length: 5 }, () => 'cut' as const), code: 'connection_lost', isRetryable: true, requests: 5 },
    { answers: [{ status: 429, headers: { 'Retry-After': '61' } }], code: 'throttled', isRetryable: true, requests: 1 },
    { answers: [{ status: 400 }], code: 'request_refused', isRetryable: false, requests: 1 },
    { answers: [{ status: 401 }], code: 'authentication_failed', isRetryable: false, requests: 1 },
    { answers: [{ status: 403 }], code: 'permission_denied', isRetryable: false, requests: 1 },
    { answers: [{ status: 404 }], code: 'endpoint_missing', isRetryable: false, requests: 1 },
    { answers: [{ status: 413 }], code: 'request_too_large', isRetryable: false, requests: 1 },
    { answers: [{ status: 422 }], code: 'request_refused', isRetryable: false, requests: 1 },
    { answers: [{ status: 302, headers: { Location: '/guarded/elsewhere' } }], code: 'redirect_refused', isRetryable: false, requests: 1 },
    { answers: [{ status: 304 }], code: 'redirect_refused', isRetryable: false, requests: 1 },
  ];
  for (const { answers, code, isRetryable, requests } of cases) {
    const { sink } = patientSink(freshConfig(), delivery());
    const sent = receiver.requests.length;
    receiver.plan(...answers);
    await assert.rejects(sink.write({ number: 0, records: 1 }, lines('1')), (error) => {
      const known = error as RetryableError | NonRetryableError;
      assert.ok(known instanceof (isRetryable ? RetryableError : NonRetryableError), String(error));
      assert.equal(known.code, code);
      assert.match(known.message, /\.$/);
      return true;
    });
    assert.equal(receiver.requests.length - sent, requests, code);
  }
  assert.deepEqual(receiver.taken('/guarded/elsewhere'), []);
});

test('an answer is told, without end, secrets or control characters', async () => {
  const config = freshConfig({ headers: { 'X-Key': 'key-"of"-header' } });
  const echo = `bad\r\nrow\u0000 ${token} ${JSON.stringify({ token })} key-"of"-header ${'x'.repeat(1000)}`;
  for (const body of [echo, 'endless'] as const) {
    receiver.plan({ status: 400, body });
    await assert.rejects(patientSink(config, delivery()).sink.write({ number: 0, records: 1 }, lines('1')), (error: Error) => {
      assert.ok(error.message.length < 500 && !error.message.includes('for-') && !error.message.includes('-header') && !/\p{Cc}/u.test(error.message));
      if (body === echo) assert.ok(error.message.includes('It answered 400 (bad row *** {"token":"***"} *** xxx'), error.message);
      return true;
    });
  }
  receiver.plan({ status: 200, body: 'endless' });
  await patientSink(config, delivery()).sink.write({ number: 0, records: 1 }, lines('1'));
});

test('requests are signed as Standard Webhooks says, over the body before compression', async () => {
  const secret = Buffer.from('0123456789abcdef01234567');
  const config = freshConfig({ signing_secret: `whsec_${secret.toString('base64')}`, compression: 'gzip', headers: { 'X-Own': 'own' } });
  await patientSink(config, delivery()).sink.write({ number: 0, records: 1 }, lines('{"a":"é"}'));
  const { headers, body } = receiver.requests.at(-1)!;
  assert.equal(headers['webhook-id'], headers['idempotency-key']);
  assert.equal(headers['webhook-timestamp'], String(Date.UTC(2026, 0, 1) / 1000));
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
  assert.equal(headers['x-own'], 'own');
});

test('an endpoint that hangs is left at once when the run is stopped, also in a pause', async () => {
  for (const answer of ['hang', { status: 503, headers: { 'Retry-After': '50' } }] as const) {
    const stop = new AbortController();
    const sink = await http.open(freshConfig(), delivery(), { ...deps, signal: stop.signal });
    const sent = receiver.requests.length;
    receiver.plan(answer);
    const waiting = assert.rejects(sink.write({ number: 0, records: 1 }, lines('1')), /stopped/);
    const end = performance.now() + 10_000;
    while (receiver.requests.length === sent) {
      assert.ok(performance.now() < end, 'nothing was sent');
      await new Promise((resume) => setImmediate(resume));
    }
    stop.abort('cancelled');
    await waiting;
    await assert.rejects(http.open(freshConfig(), delivery(), { ...deps, signal: stop.signal }), /stopped/);
  }
});

test('what cannot work is a final error with its own code, and the connection test says so', async () => {
  const cases: [string, HttpConfig, string][] = [
    ['wrong token', freshConfig({ token: 'wrong-token' }), 'authentication_failed'],
    ['nothing there', { url: `${receiver.url}/nothing` }, 'endpoint_missing'],
    ['no such host', { url: 'https://no-such-host.invalid/' }, 'host_not_found'],
    ['a private address', { url: 'https://10.0.0.1/' }, 'outbound_refused'],
    ['the metadata service', { url: 'http://169.254.169.254/latest' }, 'outbound_refused'],
    ['TLS is not offered', { url: receiver.url.replace('http:', 'https:') }, 'tls_not_offered'],
    ['certificate not verified', { url: secure.url }, 'tls_not_verified'],
  ];
  for (const [name, config, code] of cases) {
    await assert.rejects(patientSink(config, delivery()).sink.write({ number: 0, records: 1 }, lines('1')), (error) => {
      assert.ok(error instanceof NonRetryableError, `${name}: ${String(error)}`);
      assert.equal(error.code, code, name);
      assert.ok(!error.message.includes(config.token ?? '\0'), name);
      return true;
    });
    const steps = await http.check(config, contractColumns, deps);
    assert.equal(steps.filter((step) => step.status === 'failed').length, 1, name);
  }
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), proxyCertificate]);
  const steps = await http.check({ url: secure.url.replace('127.0.0.1', 'localhost') }, contractColumns, deps);
  assert.deepEqual([...new Set(steps.map((step) => step.status))], ['passed']);
});

test('the connection test sends no row, and takes the refusal of nothing for a welcome', async () => {
  for (const body_format of ['JSONLines', 'JSONArray'] as const) {
    for (const answer of ['take', { status: 400 }, { status: 422 }] as const) {
      const config = freshConfig({ body_format });
      receiver.plan(answer);
      const steps = await http.check(config, contractColumns, deps);
      assert.ok(steps.length > 0 && steps.every((step) => step.status === 'passed' && step.detail.endsWith('.')));
      assert.deepEqual(receiver.taken(pathOf(config)), []);
    }
  }
});

test('verify says that nothing can be compared', async () => {
  const config = freshConfig();
  assert.deepEqual(await contract.verify(config, []), []);
  const differences = await contract.verify(config, [await contract.deliver(config, delivery())]);
  assert.deepEqual(
    differences.map((difference) => difference.kind),
    ['unreadable'],
  );
});

test('bodies hold all rows in order, none is empty, and only a lone row may be larger than the limit', async () => {
  const row = fc.integer({ min: 1, max: 600_000 }).map((length) => JSON.stringify('x'.repeat(length)));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ arbitrary: fc.constant('{"a":[1,"}"]}'), weight: 5 }, row), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 100, max: 100_000 }),
      async (rows, max_request_records, cut) => {
        const config: HttpConfig = { url: 'https://example.com', max_request_records, max_request_size_mb: 1, body_format: 'JSONArray' };
        const bytes = Buffer.from(rows.map((text) => `${text}\n`).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, index) => bytes.subarray(index * cut, (index + 1) * cut));
        const found: unknown[] = [];
        for await (const body of bodiesOf(config, Readable.from(chunks))) {
          const parsed = JSON.parse(body.bytes.toString()) as unknown[];
          assert.ok(parsed.length === body.records && parsed.length > 0 && parsed.length <= max_request_records);
          assert.ok(body.bytes.length <= 1_000_000 || parsed.length === 1);
          found.push(...parsed);
        }
        assert.deepEqual(
          found,
          rows.map((text) => JSON.parse(text) as unknown),
        );
      },
    ),
    { numRuns: 15 },
  );
});
