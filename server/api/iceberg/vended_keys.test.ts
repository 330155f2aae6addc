import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { startSeaweedfs, without_seaweedfs } from '../../../test/servers/lake/seaweedfs.ts';
import type { Seaweedfs } from '../../../test/servers/lake/seaweedfs.ts';
import { sdk } from '../../engine/destinations/object_store/s3_client.ts';

const Bucket = 'lake';
let store: Seaweedfs;
let harness: Harness;
aroundTests(
  async () => {
    if (without_seaweedfs === false) store = await startSeaweedfs([Bucket]);
    const sts_endpoint_url = without_seaweedfs === false ? store.endpoint : undefined;
    const opened = await openHarness({
      clickhouse: false,
      config: sts_endpoint_url === undefined ? {} : { sts_endpoint_url },
    });
    const close = async () => {
      await opened.close();
      if (without_seaweedfs === false) await store.close();
    };
    return { ...opened, close };
  },
  async (opened) => void (harness = opened),
);

/**
 * A project with two tables in the bucket, and a way to load one with keys for a key of ours.
 * Without a role, there are none.
 */
async function newTables({ has_role = true } = {}) {
  const home = await harness.newOrganization();
  const exports = `/api/projects/${home.project.id}/batch_exports/`;
  const created = await home.ask('POST', exports, {
    name: 'storage',
    interval: 'hour',
    paused: true,
    destination: {
      type: 'S3',
      config: {
        bucket_name: Bucket,
        region: 'us-east-1',
        prefix: '',
        endpoint_url: store.endpoint,
        aws_access_key_id: store.access_key,
        aws_secret_access_key: store.secret_key,
        ...(has_role ? { aws_role_arn: store.role_arn } : {}),
      },
    },
  });
  assert.equal(created.status, 201, created.text);
  const base = `/iceberg/v1/${home.project.id}/namespaces`;
  const properties = { 'sluice.batch-export': created.body.id };
  const namespace = await home.ask('POST', base, { namespace: ['shop'], properties });
  assert.equal(namespace.status, 200, namespace.text);
  const fields = [{ id: 1, name: 'uuid', required: false, type: 'string' }];
  for (const name of ['ours', 'theirs']) {
    const schema = { type: 'struct', fields };
    const table = await home.ask('POST', `${base}/shop/tables`, { name, schema });
    assert.equal(table.status, 200, table.text);
  }
  const ask = async (name: string, delegation: string, key = home.key) => {
    const { status, text, body } = await harness.request('GET', `${base}/shop/tables/${name}`, {
      key,
      headers: { 'X-Iceberg-Access-Delegation': delegation },
    });
    assert.equal(status, 200, text);
    return body;
  };
  const load = async (name: string, key = home.key) => {
    const body = await ask(name, 'vended-credentials', key);
    const [credential] = body['storage-credentials'] as { config: Record<string, string> }[];
    const { location } = body['metadata'] as { location: string };
    assert.ok(credential !== undefined, 'no keys were given');
    return { given: credential.config, folder: location.slice(`s3://${Bucket}/`.length) };
  };
  return { home, ask, load };
}

/** Calls with these keys; each gives `true`, or the name of the refusal. */
function trying(given: Record<string, string>) {
  const client = new (sdk().S3Client)({
    endpoint: store.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: given['s3.access-key-id']!,
      secretAccessKey: given['s3.secret-access-key']!,
      sessionToken: given['s3.session-token']!,
    },
  });
  const told = (work: Promise<unknown>) =>
    work.then(
      () => true,
      (error: Error) => error.name,
    );
  return {
    put: (Key: string) =>
      told(client.send(new (sdk().PutObjectCommand)({ Bucket, Key, Body: 'x' }))),
    get: (Key: string) => told(client.send(new (sdk().GetObjectCommand)({ Bucket, Key }))),
    remove: (Key: string) => told(client.send(new (sdk().DeleteObjectCommand)({ Bucket, Key }))),
    list: (Prefix: string) =>
      told(client.send(new (sdk().ListObjectsV2Command)({ Bucket, Prefix }))),
  };
}

test(
  'SeaweedFS: vended keys reach the files of their table alone',
  { skip: without_seaweedfs },
  async () => {
    const { home, load } = await newTables();
    const [ours, theirs] = [await load('ours'), await load('theirs')];
    const [own, other] = [trying(ours.given), trying(theirs.given)];
    const [file, foreign] = [ours, theirs].map(({ folder }) => `${folder}/data/a.parquet`);
    assert.deepEqual([await own.put(file!), await other.put(foreign!)], [true, true]);
    assert.deepEqual([await own.get(file!), await own.list(`${ours.folder}/`)], [true, true]);
    const denied = 'AccessDenied';
    for (const name of [foreign!, 'elsewhere', `lake/${home.project.id}/x`])
      assert.deepEqual(
        [await own.get(name), await own.put(name), await own.remove(name)],
        [denied, denied, denied],
        name,
      );
    for (const prefix of ['', `${theirs.folder}/`, `lake/${home.project.id}/`])
      assert.equal(await own.list(prefix), denied, prefix);
    assert.equal(await other.get(foreign!), true);

    const key = await harness.newKey(home.user, { scopes: ['lake:read'] });
    const reader = trying((await load('ours', key)).given);
    assert.deepEqual(
      [await reader.get(file!), await reader.put(file!), await reader.remove(file!)],
      [true, denied, denied],
    );
    assert.equal(await own.remove(file!), true);
  },
);

test(
  'SeaweedFS takes the requests that the server signs',
  { skip: without_seaweedfs },
  async () => {
    const { home, ask } = await newTables({ has_role: false });
    const { config, metadata } = await ask('ours', 'remote-signing');
    assert.equal(config['s3.remote-signing-enabled'], 'true');
    const folder = (metadata.location as string).slice(`s3://${Bucket}/`.length);
    const at = `${store.endpoint}/${Bucket}`;
    const send = async (method: string, uri: string, body?: string) => {
      const asked = { method, uri, region: 'us-east-1', headers: {}, body };
      const signed = await harness.request('POST', `/iceberg/${config['s3.signer.endpoint']}`, {
        key: home.key,
        body: method === 'POST' ? asked : { ...asked, body: undefined },
      });
      assert.equal(signed.status, 200, signed.text);
      const headers = Object.fromEntries(
        Object.entries(signed.body.headers as Record<string, string[]>).map(([name, values]) => [
          name,
          values.join(','),
        ]),
      );
      const answer = await fetch(uri, { method, headers, ...(body === undefined ? {} : { body }) });
      return `${answer.status} ${method === 'GET' ? await answer.text() : ''}`.trim();
    };
    const names = ['a b', 'c+d', 'ü=1/e&f'].map((name) => `${folder}/data/${name}.parquet`);
    const uris = names.map((name) => `${at}/${name.split('/').map(encodeURIComponent).join('/')}`);
    for (const uri of uris) {
      assert.equal(await send('PUT', uri, 'rows'), '200', uri);
      assert.equal(await send('GET', uri), '200 rows', uri);
      assert.equal(await send('HEAD', uri), '200', uri);
      assert.equal((await fetch(uri)).status, 403, 'an unsigned request');
    }
    assert.match(await send('DELETE', uris[0]!), /^20[04]$/);
    const keys = names
      .slice(1)
      .map((name) => `<Object><Key>${name.replace('&', '&amp;')}</Key></Object>`);
    assert.equal(await send('POST', `${at}?delete`, `<Delete>${keys.join('')}</Delete>`), '200');
    for (const uri of uris) assert.match(await send('GET', uri), /^404/, uri);
  },
);
