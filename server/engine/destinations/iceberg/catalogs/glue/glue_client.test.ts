import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, test } from 'node:test';
import { aroundTests } from '../../../../../../test/around_tests.ts';
import { destinationDeps } from '../../../../../../test/destinations/destination_deps.ts';
import { awsSignature } from '../../../../../../test/servers/lake/aws_signature.ts';
import type { Seen } from '../../../../../../test/servers/lake/aws_signature.ts';
import { listenLocally } from '../../../../../../test/servers/loopback.ts';
import { systemClock } from '../../../../../platform/clock.ts';
import { openGlueClient } from './glue_client.ts';

const keys = { aws_access_key_id: 'AKIAOFTHETEST', aws_secret_access_key: 'secret/of+the=test' };
let answer: { status: number; body: string; headers?: Record<string, string> };
const seen: Seen[] = [];
const world = aroundTests(async () => {
  const server = await listenLocally(
    createServer(async (request, response) => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: await text(request) });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    }),
  );
  const deps = destinationDeps();
  const close = async () => {
    await deps.outbound.close();
    await server.close();
  };
  return { deps, uri: `http://127.0.0.1:${server.port}`, close };
});
beforeEach(() => {
  seen.splice(0);
  answer = { status: 200, body: '{"Table":{"VersionId":"9007199254740993"}}' };
});

const open = (more: object = {}) =>
  openGlueClient(
    { bucket_name: 'lake', region: 'eu-north-1', ...keys, catalog_uri: world.uri, ...more },
    { clock: systemClock, deps: world.deps },
  );

const scope = {
  service: 'glue',
  region: 'eu-north-1',
  credentials: {
    accessKeyId: keys.aws_access_key_id,
    secretAccessKey: keys.aws_secret_access_key,
  },
};

test('each action is signed as the SDK of AWS signs it, at any address', async () => {
  for (const catalog_uri of [world.uri, `${world.uri}/`, `${world.uri}/behind/a/proxy`]) {
    const given = await open({ catalog_uri })('GetTable', { DatabaseName: 'shop', Name: 'ü' });
    assert.deepEqual(given, {
      status: 200,
      fields: { Table: { VersionId: '9007199254740993' } },
      said: '',
    });
    const sent = seen.at(-1)!;
    assert.equal(sent.headers['x-amz-target'], 'AWSGlue.GetTable');
    assert.equal(sent.headers['content-type'], 'application/x-amz-json-1.1');
    assert.equal(sent.body, '{"DatabaseName":"shop","Name":"ü"}');
    assert.equal(sent.headers.authorization, await awsSignature(sent, scope));
  }
});

test('a refusal of Glue is an answer, sent for once, and no redirect is followed', async () => {
  const body = '{"__type":"ConcurrentModificationException","Message":"Update table failed"}';
  answer = { status: 400, body };
  const { status, said, fields } = await open()('UpdateTable', {});
  assert.deepEqual(
    [status, said, fields['__type']],
    [400, 'Update table failed', 'ConcurrentModificationException'],
  );
  answer = { status: 307, body: '', headers: { location: `${world.uri}/elsewhere` } };
  assert.equal((await open()('UpdateTable', {})).status, 307);
  answer = { status: 503, body: '<html>' };
  assert.deepEqual(await open()('UpdateTable', {}), { status: 503, fields: {}, said: '' });
  assert.deepEqual(
    seen.map(({ url }) => url),
    ['/', '/', '/'],
  );
});

test('without an address, the Glue of the region of the bucket is asked', async () => {
  const asked: string[] = [];
  const fetch: typeof world.deps.outbound.fetch = (url) => {
    asked.push(String(url));
    return world.deps.outbound.fetch(world.uri);
  };
  const deps = { ...world.deps, outbound: { ...world.deps.outbound, fetch } };
  const client = openGlueClient(
    { bucket_name: 'lake', region: 'eu-north-1', ...keys, catalog_uri: '' },
    { clock: systemClock, deps },
  );
  await client('GetDatabase', {});
  assert.deepEqual(asked, ['https://glue.eu-north-1.amazonaws.com/']);
});
