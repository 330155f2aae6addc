import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import tls from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { is_deep } from '../../../../test/depth.ts';
import { freshDelivery } from '../../../../test/factories/batch_exports/deliveries.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { deliverAgain, killDelivery } from '../../../../test/processes/killed_delivery.ts';
import { certificate } from '../../../../test/servers/certificate.ts';
import type { Delivery } from '../../model/destination/destination.ts';
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

openAroundTests();

const lines = (...rows: string[]) =>
  Readable.from([Buffer.from(rows.map((row) => `${row}\n`).join(''))]);

async function write(config: HttpConfig, given: Delivery, bytes: Readable): Promise<void> {
  const sink = await http.open(config, given, deps);
  await sink.write({ number: 0, records: 1 }, bytes);
  await sink.close();
}

test('the preview shows the first request as sent, without secrets', async () => {
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
      await write(config, freshDelivery(), lines(...rows));
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
        const carried = sent.headers[name.toLowerCase()];
        assert.ok(
          value === carried ||
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

test('other limits of a request between two attempts may double rows, but lose none', async () => {
  const config = freshConfig({ max_request_records: 2 });
  const given = freshDelivery();
  const rows = ['1', '2', '3', '4', '5'];
  receiver.plan('take', { status: 400 });
  await assert.rejects(write(config, given, lines(...rows)));
  await write({ ...config, max_request_records: 3 }, given, lines(...rows));
  assert.deepEqual(receiver.taken(pathOf(config)), ['1', '2', '1', '2', '3', '4', '5']);
});

test('an error of the source is thrown unchanged, and no half row is sent', async () => {
  const config = freshConfig();
  const failure = new Error('the query failed');
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('1\n2');
      throw failure;
    })(),
  );
  await assert.rejects(write(config, freshDelivery(), source), (error) => error === failure);
  assert.deepEqual(receiver.taken(pathOf(config)), []);
  await assert.rejects(
    write(config, freshDelivery(), Readable.from([Buffer.from('1\n2')])),
    /middle of a line/,
  );
});

test('a certificate counts that a known authority has signed for the name', async () => {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const steps = await http.check(
    { url: secure.url.replace('127.0.0.1', 'localhost') },
    contractColumns,
    deps,
  );
  assert.deepEqual([...new Set(steps.map((step) => step.status))], ['passed']);
});

test('the connection test sends no row, and a refusal of nothing is a welcome', async () => {
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

test('the worker after a killed one completes the delivery with the same keys', async () => {
  for (const place of is_deep ? (['writing', 'written'] as const) : (['writing'] as const)) {
    const config: HttpConfig = {
      url: freshPath(),
      max_request_records: 1,
    };
    const slices = [
      ['1', '2'],
      ['3', '4'],
    ].map((rows) => ({
      base64: Buffer.from(`${rows.join('\n')}\n`).toString('base64'),
      records: 2,
    }));
    const orders = { type: 'HTTP', config, delivery: freshDelivery(), slices, place };
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
});
