import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import type { Answer, HttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import { bodiesOf, bodyOf } from './bodies.ts';
import type { HttpConfig } from './config.ts';
import { openEndpoint } from './endpoint.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const token = 'token-for-"tests"';
const now = Date.UTC(2026, 0, 1);
let receiver: HttpReceiver;
let places = 0;

before(async () => {
  receiver = await openHttpReceiver({ token });
});

after(async () => {
  await receiver.close();
  await outbound.close();
});

const freshConfig = (changes: Partial<HttpConfig> = {}): HttpConfig => ({
  url: `${receiver.url}/guarded/${(places += 1)}`,
  token,
  ...changes,
});
const takenAt = (config: HttpConfig) => receiver.taken(new URL(config.url).pathname);

/** Sends rows; pauses are noted instead of waited for. */
async function send(config: HttpConfig, row: string, pauses: number[] = []): Promise<void> {
  const pause = async (milliseconds: number) => void pauses.push(milliseconds);
  const endpoint = openEndpoint(config, {
    outbound,
    signal: new AbortController().signal,
    clock: { now: () => now },
    pause,
  });
  await endpoint.send(`request-${places}`, bodyOf(config, [Buffer.from(row)]));
}

test('a passing fault is retried with the same key, after the requested pause', async () => {
  const cases: { answers: Answer[]; pauses: number[]; requests: number }[] = [
    {
      answers: [{ status: 503 }, { status: 500 }, 'cut', { status: 408 }],
      pauses: [1000, 2000, 4000, 8000],
      requests: 5,
    },
    {
      answers: [
        { status: 429, headers: { 'Retry-After': '7' } },
        { status: 503, headers: { 'Retry-After': '0' } },
      ],
      pauses: [7000, 0],
      requests: 3,
    },
    {
      answers: [{ status: 429, headers: { 'Retry-After': 'Thu, 01 Jan 2026 00:00:09 GMT' } }],
      pauses: [9000],
      requests: 2,
    },
    {
      answers: [{ status: 429, headers: { 'Retry-After': 'Wed, 31 Dec 2025 23:00:00 GMT' } }],
      pauses: [0],
      requests: 2,
    },
    { answers: [{ status: 429, headers: { 'Retry-After': 'soon' } }], pauses: [1000], requests: 2 },
    { answers: ['take and cut'], pauses: [1000], requests: 2 },
  ];
  for (const { answers, pauses, requests } of cases) {
    const config = freshConfig();
    const waited: number[] = [];
    const sent = receiver.requests.length;
    receiver.plan(...answers);
    await send(config, '{"a":1}', waited);
    assert.deepEqual(waited, pauses);
    assert.deepEqual(takenAt(config), ['{"a":1}']);
    const keys = receiver.requests.slice(sent).map((request) => request.headers['idempotency-key']);
    assert.equal(keys.length, requests);
    assert.equal(new Set(keys).size, 1);
  }
});

test('a lasting fault ends the attempt: after five tries, or at once', async () => {
  const cases: { answers: Answer[]; code: string; isRetryable: boolean; requests: number }[] = [
    {
      answers: Array.from({ length: 5 }, () => ({ status: 503 })),
      code: 'store_fault',
      isRetryable: true,
      requests: 5,
    },
    {
      answers: Array.from({ length: 5 }, () => 'cut' as const),
      code: 'connection_lost',
      isRetryable: true,
      requests: 5,
    },
    {
      answers: [{ status: 429, headers: { 'Retry-After': '61' } }],
      code: 'throttled',
      isRetryable: true,
      requests: 1,
    },
    { answers: [{ status: 400 }], code: 'request_refused', isRetryable: false, requests: 1 },
    {
      answers: [{ status: 401 }],
      code: 'authentication_failed',
      isRetryable: false,
      requests: 1,
    },
    { answers: [{ status: 403 }], code: 'permission_denied', isRetryable: false, requests: 1 },
    { answers: [{ status: 404 }], code: 'endpoint_missing', isRetryable: false, requests: 1 },
    { answers: [{ status: 413 }], code: 'request_too_large', isRetryable: false, requests: 1 },
    { answers: [{ status: 422 }], code: 'request_refused', isRetryable: false, requests: 1 },
    {
      answers: [{ status: 302, headers: { Location: '/guarded/elsewhere' } }],
      code: 'redirect_refused',
      isRetryable: false,
      requests: 1,
    },
    { answers: [{ status: 304 }], code: 'redirect_refused', isRetryable: false, requests: 1 },
  ];
  for (const { answers, code, isRetryable, requests } of cases) {
    const sent = receiver.requests.length;
    receiver.plan(...answers);
    await assert.rejects(send(freshConfig(), '1'), (error) => {
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

test('the log quotes an answer, bounded, without secrets or control characters', async () => {
  const config = freshConfig({ headers: { 'X-Key': 'key-"of"-header' } });
  const end = 'x'.repeat(1000);
  const echo = `bad\r\nrow\u0000 ${token} ${JSON.stringify({ token })} key-"of"-header ${end}`;
  for (const is_endless of [false, true]) {
    receiver.plan({ status: 400, body: echo, is_endless });
    await assert.rejects(send(config, '1'), (error: Error) => {
      assert.ok(
        error.message.length < 500 &&
          !error.message.includes('for-') &&
          !error.message.includes('-header') &&
          !/\p{Cc}/u.test(error.message),
      );
      if (!is_endless)
        assert.ok(
          error.message.includes('It answered 400 (bad row *** {"token":"***"} *** xxx'),
          error.message,
        );
      return true;
    });
  }
  receiver.plan({ status: 200, is_endless: true });
  await send(config, '1');
});

test('requests are signed as Standard Webhooks says, over the uncompressed body', async () => {
  const secret = Buffer.from('0123456789abcdef01234567');
  const config = freshConfig({
    signing_secret: `whsec_${secret.toString('base64')}`,
    compression: 'gzip',
    headers: { 'X-Own': 'own' },
  });
  await send(config, '{"a":"é"}');
  const { headers, body } = receiver.requests.at(-1)!;
  assert.equal(headers['webhook-id'], headers['idempotency-key']);
  assert.equal(headers['webhook-timestamp'], String(now / 1000));
  const signed = `${String(headers['webhook-id'])}.${headers['webhook-timestamp']}.${body}`;
  assert.equal(
    headers['webhook-signature'],
    `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`,
  );
  assert.equal(headers['x-own'], 'own');
});

test('an endpoint that hangs is left at once on abort, also in a pause', async () => {
  for (const answer of ['hang', { status: 503, headers: { 'Retry-After': '50' } }] as const) {
    const stop = new AbortController();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const pause = (_milliseconds: number, signal: AbortSignal) => {
      reach();
      return new Promise<void>((_resume, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    };
    const endpoint = openEndpoint(freshConfig(), {
      outbound,
      signal: stop.signal,
      clock: { now: () => now },
      pause,
    });
    receiver.plan(answer);
    receiver.onRequest(() => {
      if (answer === 'hang') reach();
    });
    const waiting = assert.rejects(
      endpoint.send('a', bodyOf(freshConfig(), [Buffer.from('1')])),
      /stopped/,
    );
    await reached;
    stop.abort('cancelled');
    await waiting;
    await assert.rejects(endpoint.send('a', bodyOf(freshConfig(), [])), /stopped/);
  }
});

test('bodies hold all rows in order; only a lone row may exceed the limit', async () => {
  const row = fc
    .integer({ min: 1, max: 600_000 })
    .map((length) => JSON.stringify('x'.repeat(length)));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ arbitrary: fc.constant('{"a":[1,"}"]}'), weight: 5 }, row), {
        maxLength: 12,
      }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 100, max: 100_000 }),
      async (rows, max_request_records, cut) => {
        const config: HttpConfig = {
          url: 'https://example.com',
          max_request_records,
          max_request_size_mb: 1,
          body_format: 'JSONArray',
        };
        const bytes = Buffer.from(rows.map((text) => `${text}\n`).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / cut) }, (_, index) =>
          bytes.subarray(index * cut, (index + 1) * cut),
        );
        const found: unknown[] = [];
        for await (const body of bodiesOf(config, Readable.from(chunks))) {
          const parsed = JSON.parse(body.bytes.toString()) as unknown[];
          assert.ok(
            parsed.length === body.records &&
              parsed.length > 0 &&
              parsed.length <= max_request_records,
          );
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
