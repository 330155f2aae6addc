import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { listenLocally } from '../../../test/servers/loopback.ts';
import { openS3Server } from '../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../test/servers/object_stores/s3_server.ts';

/** The requests to the token service. */
const asked: URLSearchParams[] = [];
let store: S3Server;
let home: TestOrganization;
let base: string;

/** A stand-in for AWS STS: whoever asks gets the keys of the store. */
async function giveKeys(request: IncomingMessage): Promise<string> {
  asked.push(new URLSearchParams((await buffer(request)).toString()));
  const action = asked.at(-1)!.get('Action');
  return `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result>
    <Credentials><AccessKeyId>${store.access_key}</AccessKeyId>
      <SecretAccessKey>${store.secret_key}</SecretAccessKey>
      <SessionToken>session</SessionToken>
      <Expiration>2036-01-01T00:00:00Z</Expiration></Credentials>
    </${action}Result></${action}Response>`;
}

const harness = aroundTests(
  async () => {
    store = await openS3Server(['bucket']);
    const server = createServer((request, response) => {
      void giveKeys(request).then((text) =>
        response.writeHead(200, { 'content-type': 'text/xml' }).end(text),
      );
    });
    const sts = await listenLocally(server);
    const opened = await openHarness({
      clickhouse: false,
      config: { sts_endpoint_url: `http://127.0.0.1:${sts.port}` },
    });
    const close = async () => {
      await sts.close();
      await store.close();
      await opened.close();
    };
    return { ...opened, close };
  },
  async (opened) => {
    home = await opened.newOrganization();
    base = `/iceberg/v1/${home.project.id}`;
  },
);

const vended = { 'x-iceberg-access-delegation': 'vended-credentials' };
const fields = [{ id: 1, name: 'uuid', type: 'string', required: false }];

/** A namespace in the bucket of an export to S3, with a table; gives the answer to its creation. */
async function newTable(namespace: string, role: object) {
  const created = await home.ask('POST', `/api/projects/${home.project.id}/batch_exports/`, {
    name: namespace,
    interval: 'hour',
    paused: true,
    destination: {
      type: 'S3',
      config: {
        bucket_name: 'bucket',
        region: 'us-east-1',
        prefix: 'exports/{year}/',
        aws_access_key_id: store.access_key,
        aws_secret_access_key: store.secret_key,
        endpoint_url: store.endpoint,
        ...role,
      },
    },
  });
  assert.equal(created.status, 201, created.text);
  const properties = { 'sluice.batch-export': created.body.id };
  const made = await home.ask('POST', `${base}/namespaces`, { namespace: [namespace], properties });
  assert.equal(made.status, 200, made.text);
  const body = { name: 'events', schema: { type: 'struct', fields } };
  const answer = await home.ask('POST', `${base}/namespaces/${namespace}/tables`, body, vended);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

test('keys of the storage end within an hour and reach the table alone', async () => {
  const role = { aws_role_arn: 'arn:aws:iam::123456789012:role/lake', aws_external_id: 'id' };
  const table = await newTable('vended', role);
  const { location } = table.metadata;
  assert.match(location, /^s3:\/\/bucket\/exports\/lake\/\d+\/vended\/events-[0-9a-f-]{36}$/);
  const [granted] = table['storage-credentials'];
  assert.equal(granted.prefix, location);
  assert.deepEqual(granted.config, {
    's3.region': 'us-east-1',
    'client.region': 'us-east-1',
    's3.endpoint': store.endpoint,
    's3.path-style-access': 'true',
    's3.access-key-id': store.access_key,
    's3.secret-access-key': store.secret_key,
    's3.session-token': 'session',
    's3.session-token-expires-at-ms': String(Date.parse('2036-01-01T00:00:00Z')),
  });
  const key = location.slice('s3://bucket/'.length);
  const policies = () =>
    asked
      .filter((one) => one.has('Policy'))
      .map((one) => JSON.parse(one.get('Policy')!) as { Statement: Record<string, unknown>[] });
  const [objects, names] = policies().at(-1)!.Statement;
  assert.equal(objects!['Resource'], `arn:aws:s3:::bucket/${key}/*`);
  assert.ok((objects!['Action'] as string[]).includes('s3:PutObject'));
  assert.deepEqual(names!['Condition'], { StringLike: { 's3:prefix': [`${key}/*`] } });
  assert.equal(asked.at(-1)!.get('DurationSeconds'), '3600');
  // A reader gets keys that only read.
  const reader = await harness.newKey(home.user, { scopes: ['lake:read'] });
  const path = `${base}/namespaces/vended/tables/events`;
  await harness.request('GET', path, { key: reader, headers: vended });
  assert.deepEqual(policies().at(-1)!.Statement[0]!['Action'], ['s3:GetObject']);
  // Without the header no keys are given.
  const plain = await home.ask('GET', path);
  assert.equal(plain.body['storage-credentials'], undefined);
  assert.doesNotMatch(JSON.stringify(plain.body.config), /key|token/);
});

test('where nobody gives such keys, the server signs requests for files of the table', async () => {
  const table = await newTable('signed', {});
  const { config, metadata } = table;
  assert.equal(config['s3.remote-signing-enabled'], 'true');
  assert.doesNotMatch(JSON.stringify(table), new RegExp(store.secret_key));
  const path = `/iceberg/${config['s3.signer.endpoint']}`;
  const at = `${store.endpoint}/bucket/${metadata.location.slice('s3://bucket/'.length)}`;
  const sign = (method: string, uri: string, key = home.key, headers = {}) =>
    harness.request('POST', path, { key, body: { method, uri, region: 'us-east-1', headers } });
  const send = async (method: string, uri: string, body?: string) => {
    const { status, body: signed, text } = await sign(method, uri);
    assert.equal(status, 200, text);
    const headers = Object.entries(signed.headers as Record<string, string[]>).map(
      ([name, values]): [string, string] => [name, values.join(',')],
    );
    return fetch(uri, { method, headers, ...(body === undefined ? {} : { body }) });
  };
  const file = `${at}/data/a%20b.parquet`;
  assert.equal((await send('PUT', file, 'rows')).status, 200);
  assert.equal(await (await send('GET', file)).text(), 'rows');
  const refused: [string, string][] = [
    ['GET', `${store.endpoint}/bucket/exports/other`],
    ['GET', `${at}/../other/data/x`],
    ['GET', `${at}/%2e%2e/other`],
    ['GET', `${at}-other/data/x`],
    ['GET', `${store.endpoint}/other-bucket/x`],
    ['GET', 'https://example.com/bucket/x'],
    ['GET', `${store.endpoint}/bucket/?list-type=2&prefix=exports/`],
    ['GET', `${store.endpoint}/bucket/?policy`],
    ['PUT', `${file}?acl`],
    ['PATCH', file],
  ];
  for (const [method, uri] of refused)
    assert.equal((await sign(method, uri)).status, 403, `${method} ${uri}`);
  for (const headers of [
    { 'X-Amz-Copy-Source': ['/bucket/exports/other'] },
    { 'x-amz-acl': ['public-read'] },
    { 'x-amz-grant-read': ['uri="http://acs.amazonaws.com/groups/global/AllUsers"'] },
  ])
    assert.equal((await sign('PUT', file, home.key, headers)).status, 403);
  const reader = await harness.newKey(home.user, { scopes: ['lake:read'] });
  assert.equal((await sign('GET', file, reader)).status, 200);
  assert.equal((await sign('PUT', file, reader)).status, 403);
});

test('a signed request deletes several files of the table, and no other', async () => {
  const { config, metadata } = await newTable('deleting', {});
  const path = `/iceberg/${config['s3.signer.endpoint']}`;
  const folder = metadata.location.slice('s3://bucket/'.length);
  const uri = `${store.endpoint}/bucket?delete`;
  const asked = (body: string | undefined, key = home.key, to = uri) =>
    harness.request('POST', path, {
      key,
      body: { method: 'POST', uri: to, region: 'us-east-1', headers: {}, body },
    });
  const listOf = (...keys: string[]) =>
    `<Delete>${keys.map((key) => `<Object><Key>${key}</Key></Object>`).join('')}</Delete>`;
  const keys = ['a', 'b&amp;c'].map((name) => `${folder}/data/${name}.parquet`);
  const to = `${store.endpoint}/bucket/${folder}/data/a.parquet`;
  const { body: written } = await harness.request('POST', path, {
    key: home.key,
    body: { method: 'PUT', uri: to, region: 'us-east-1', headers: {} },
  });
  assert.equal((await fetch(to, { ...sent(written), method: 'PUT', body: 'x' })).status, 200);
  const list = listOf(...keys);
  const { status, body: signed, text } = await asked(list);
  assert.equal(status, 200, text);
  // S3 refuses another body than the one that was looked at.
  assert.deepEqual(signed.headers['x-amz-content-sha256'], [
    createHash('sha256').update(list).digest('hex'),
  ]);
  assert.match(signed.headers.authorization[0], /SignedHeaders=[^,]*x-amz-content-sha256/);
  // The stand-in trips over two objects of one folder that go at the same time.
  const one = listOf(keys[0]!);
  const { body: alone } = await asked(one);
  const done = await fetch(uri, { ...sent(alone), method: 'POST', body: one });
  assert.equal(done.status, 200, await done.text());
  const refused: [string | undefined, number][] = [
    [undefined, 403],
    [listOf('exports/other'), 403],
    [listOf(...keys, `${folder}-other/x`), 403],
    [listOf(`${folder}/../other`), 403],
    [listOf(`${folder}/&#46;&#x2e;/other`), 403],
    [`${list}<!-- more -->`, 400],
    [`<!DOCTYPE x [<!ENTITY y "z">]>${list}`, 400],
    [listOf(`${folder}/<![CDATA[x]]>`), 400],
    [listOf(`${folder}/&y;`), 400],
    [listOf(`${folder}/&#x110000;`), 400],
    [listOf(...Array.from({ length: 1_001 }, (_, n) => `${folder}/${n}`)), 400],
  ];
  for (const [body, expected] of refused)
    assert.equal((await asked(body)).status, expected, body?.slice(0, 200));
  const reader = await harness.newKey(home.user, { scopes: ['lake:read'] });
  assert.equal((await asked(list, reader)).status, 403);
  assert.equal((await asked(list, home.key, `${uri}&acl`)).status, 403);
});

function sent(signed: { headers: Record<string, string[]> }) {
  const headers = Object.entries(signed.headers).map(([name, values]): [string, string] => [
    name,
    values.join(','),
  ]);
  return { headers };
}

test('a prepared table is written by signed requests before its first commit', async () => {
  await newTable('prepared', {});
  const tables = `${base}/namespaces/prepared/tables`;
  const body = { name: 'staged', schema: { type: 'struct', fields }, 'stage-create': true };
  const staged = await home.ask('POST', tables, body, vended);
  assert.equal(staged.status, 200, staged.text);
  const { config, metadata } = staged.body;
  const path = `/iceberg/${config['s3.signer.endpoint']}`;
  const at = (location: string) =>
    `${store.endpoint}/bucket/${location.slice('s3://bucket/'.length)}/data/a.parquet`;
  const sign = async (uri: string, key = home.key) => {
    const asked = { method: 'PUT', uri, region: 'us-east-1', headers: {} };
    return (await harness.request('POST', path, { key, body: asked })).status;
  };
  assert.equal(await sign(at(metadata.location)), 200);
  const { body: other } = await home.ask('GET', `${tables}/events`);
  assert.equal(await sign(at(other.metadata.location)), 404);
  assert.equal(await sign(`${store.endpoint}/bucket/x`), 404);
  const reader = await harness.newKey(home.user, { scopes: ['lake:read'] });
  assert.equal(await sign(at(metadata.location), reader), 404);
});

test('an export of another project lends its storage to nobody else', async () => {
  await newTable('lent', {});
  const { body } = await home.ask('GET', `${base}/namespaces/lent`);
  const stranger = await harness.newOrganization();
  const properties = { 'sluice.batch-export': body.properties['sluice.batch-export'] };
  const answer = await stranger.ask('POST', `/iceberg/v1/${stranger.project.id}/namespaces`, {
    namespace: ['lent'],
    properties,
  });
  assert.deepEqual([answer.status, answer.body.error.type], [404, 'NotFoundException']);
});
