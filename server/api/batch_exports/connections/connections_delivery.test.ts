import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  attrsOf,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  connectionsBase,
  newConnection,
} from '../../../../test/factories/batch_exports/connections.ts';
import {
  insertEvents,
  openDeliveringHarness,
  scheduleFrom,
  until,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { Harness } from '../../../../test/harness.ts';
import { accessTo } from '../../../../test/servers/databases/embedded_postgres.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import type { HttpReceiver } from '../../../../test/servers/http_receiver.ts';

let harness: Harness;
let receiver: HttpReceiver;
const delivering = aroundTests(
  async () => {
    const opened = await openDeliveringHarness();
    const receiving = await openHttpReceiver({ token: 'pl4nted-new' });
    return {
      ...opened,
      receiving,
      close: async () => {
        await opened.close();
        await receiving.close();
      },
    };
  },
  async (opened) => {
    harness = opened.harness;
    receiver = opened.receiving;
  },
);

const store_keys = { aws_access_key_id: 'AKIAPLANTED', aws_secret_access_key: 'pl4nted-word' };
const statuses = ({ body }: { body: { steps: { status: string }[] } }) =>
  body.steps.map(({ status }) => status);

test('a credential that is rotated while exports run is what their next attempts use', async () => {
  const home = await harness.newOrganization();
  await insertEvents(harness, home);
  const url = `${receiver.url}/rotated`;
  const connection = await newConnection(home, {
    type: 'HTTP',
    config: { url, token: 'pl4nted-old' },
  });
  const path = `${connectionsBase(home)}${connection.id}/`;
  // Whoever comes with the old token has to come again.
  receiver.onRequest(() => {
    const isOld = receiver.requests.at(-1)?.headers.authorization === 'Bearer pl4nted-old';
    receiver.plan(isOld ? { status: 503, headers: { 'retry-after': '0' } } : 'take');
  });
  const created = await newExport(home, {
    destination: { type: 'HTTP', config: { body_format: 'JSONLines' } },
    connection_id: connection.id,
  });
  await scheduleFrom(harness, created.id);
  await delivering.startOnce();
  const runs = () => home.ask('GET', `${projectBase(home)}${created.id}/runs/`);
  await until(runs, ({ results }) =>
    results.some((run: { latest_error: string | null }) => run.latest_error !== null),
  );
  const rotated = await home.ask('PATCH', path, { config: { token: 'pl4nted-new' } });
  assert.equal(rotated.status, 200, rotated.text);
  const ended = await until(
    runs,
    ({ results }) =>
      results.length === 3 &&
      results.every((run: { status: string }) => run.status === 'Completed'),
  );
  assert.ok(ended.results.some((run: { steps: object[] }) => run.steps.length > 1));
  assert.equal(receiver.taken('/rotated').length, 30);
});

test('the test of a connection signs in and writes nothing', async () => {
  const home = await harness.newOrganization();
  const access = accessTo(harness.stores.database_url, 1);
  const { database, user, password } = access;
  const closed = await newConnection(home, {
    config: { host: '127.0.0.1', port: 1, database, user, password },
  });
  const test_of = (id: string, body: object = {}) =>
    home.ask('POST', `${connectionsBase(home)}${id}/test/`, body);
  const refused = await test_of(closed.id);
  assert.deepEqual(statuses(refused), ['failed'], refused.text);
  const url = `${receiver.url}/guarded`;
  const http = { type: 'HTTP', config: { url, token: 'pl4nted-new' } };
  const open = await newConnection(home, http);
  const passed = await test_of(open.id);
  assert.deepEqual(statuses(passed), ['passed', 'passed'], passed.text);
  const wrong = await newConnection(home, {
    type: 'HTTP',
    config: { url, token: 'pl4nted-old' },
  });
  assert.deepEqual(statuses(await test_of(wrong.id)), ['passed', 'failed']);
  const { aws_access_key_id, aws_secret_access_key } = store_keys;
  const bucket = await newConnection(home, {
    type: 'S3',
    config: { endpoint_url: receiver.url, aws_access_key_id, aws_secret_access_key },
  });
  const unnamed = await test_of(bucket.id);
  assert.deepEqual(attrsOf(unnamed), [
    'config__bucket_name required',
    'config__prefix required',
    'config__region required',
  ]);
});

test('a connection is tested before it is created, and a change before it is saved', async () => {
  const home = await harness.newOrganization();
  const base = connectionsBase(home);
  const right = { url: `${receiver.url}/tried`, token: 'pl4nted-new' };
  const draft = (connection: object, type = 'HTTP') =>
    home.ask('POST', `${base}test/`, { type, connection });
  receiver.onRequest(() => receiver.plan('take'));
  assert.deepEqual(new Set(statuses(await draft(right))), new Set(['passed']));
  const closed = { ...right, url: 'http://127.0.0.1:2/rows' };
  assert.ok(statuses(await draft(closed)).includes('failed'));
  assert.deepEqual(attrsOf(await draft({ url: 'nowhere', bucket: 'x' })), [
    'connection__bucket invalid_input',
    'connection__url invalid_input',
  ]);
  assert.deepEqual(attrsOf(await draft(store_keys, 'S3')), [
    'config__bucket_name required',
    'config__prefix required',
    'config__region required',
  ]);
  assert.equal((await home.ask('GET', base)).body.count, 0, 'nothing is stored');
  const { id } = await newConnection(home, { type: 'HTTP', config: right });
  const changed = (connection: object) => home.ask('POST', `${base}${id}/test/`, { connection });
  assert.deepEqual(new Set(statuses(await changed({}))), new Set(['passed']));
  assert.ok(statuses(await changed(closed)).includes('failed'));
  assert.deepEqual(attrsOf(await changed({ url: closed.url })), ['connection__token required']);
  const { body: stored } = await home.ask('GET', `${base}${id}/`);
  assert.equal(stored.config.url, right.url, 'the test changes nothing');
});
