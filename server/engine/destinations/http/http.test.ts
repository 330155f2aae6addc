import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { freshDelivery } from '../../../../test/factories/batch_exports/deliveries.ts';
import { parseExact } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { DestinationUnderTest } from '../../../../test/destinations/destination_world.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { HttpConfig } from './config.ts';
import { http } from './http.ts';
import {
  openAroundTests,
  deps,
  token,
  receiver,
  secure,
  freshConfig,
  freshPath,
  pathOf,
  secret,
} from '../../../../test/destinations/http_world.ts';

const opened = openAroundTests();

const under: DestinationUnderTest = {
  definition: http,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: async () =>
    freshConfig({
      headers: { 'X-Tenant-Key': 'a-header-that-only-tests-have' },
      signing_secret: secret(24),
    }),
  readBack: async (config) => receiver.taken(pathOf(config as HttpConfig)).map(rowOf),
  leftovers: async () => [],
  misconfigure: async () => [
    { name: 'wrong token', change: { token: 'wrong-token' }, code: 'authentication_failed' },
    { name: 'nothing there', change: { url: `${receiver.url}/nothing` }, code: 'endpoint_missing' },
    {
      name: 'no such host',
      change: { url: 'https://no-such-host.invalid/' },
      code: 'host_not_found',
    },
    { name: 'a private address', change: { url: 'https://10.0.0.1/' }, code: 'outbound_refused' },
    {
      name: 'the metadata service',
      change: { url: 'http://169.254.169.254/latest' },
      code: 'outbound_refused',
    },
    {
      name: 'TLS is not offered',
      change: { url: receiver.url.replace('http:', 'https:') },
      code: 'tls_not_offered',
    },
    { name: 'certificate not verified', change: { url: secure.url }, code: 'tls_not_verified' },
  ],
  invalid: [
    { name: 'url is a host', change: { url: 'example.com' } },
    { name: 'url of another protocol', change: { url: 'ftp://example.com' } },
    { name: 'url with a password', change: { url: 'https://a:b@example.com' } },
    { name: 'token with a line end', change: { token: 'a\r\nb' } },
    { name: 'header is a number', change: { headers: { a: 1 } }, attr: 'headers/a' },
    { name: 'name of a header with a blank', change: { headers: { 'a b': 'c' } } },
    { name: 'header with a line end', change: { headers: { a: 'b\r\nc: d' } } },
    { name: 'header of the request itself', change: { headers: { 'Content-Length': '1' } } },
    { name: 'header and token for the same', change: { headers: { Authorization: 'Basic x' } } },
    { name: 'unknown format', change: { body_format: 'XML' } },
    { name: 'unknown compression', change: { compression: 'lz4' } },
    { name: 'no rows in a request', change: { max_request_records: 0 } },
    { name: 'secret without its prefix', change: { signing_secret: 'secret' } },
    { name: 'secret too short', change: { signing_secret: secret(23) } },
    { name: 'secret too long', change: { signing_secret: secret(65) } },
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

for (const body_format of ['JSONLines', 'JSONArray', 'Batch'] as const) {
  test(`every value comes in order as ${body_format}, however compressed and parted`, async () => {
    for (const compression of [null, 'gzip', 'brotli', 'zstd'] as const) {
      const url = freshPath();
      const config: HttpConfig = {
        url,
        token,
        body_format,
        compression,
        max_request_records: 3,
        max_request_size_mb: 1,
      };
      const first = receiver.requests.length;
      await contract.deliver(config, freshDelivery());
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

test('a repeat has the same keys, and another delivery has others', async () => {
  const config = freshConfig({ max_request_records: 4 });
  const given = freshDelivery();
  await contract.deliver(config, given);
  await contract.deliver(config, { ...given, run_id: randomUUID(), attempt: 2 });
  assert.deepEqual(await received(config), expected());
  await contract.deliver(config, freshDelivery());
  assert.equal((await received(config)).length, 2 * expected().length);
});

test('an acknowledged slice is not sent again by the next attempt, a broken one is', async () => {
  const config = freshConfig({ max_request_records: 1 });
  const given = freshDelivery();
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
