import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../../test/around_tests.ts';
import { deliverRows } from '../../../../../test/factories/batch_exports/deliver_rows.ts';
import {
  brokenConnection,
  listenAsCatalog,
  lose,
  withCommits,
} from '../../../../../test/factories/batch_exports/faulty_catalog.ts';
import { openQueryHarness } from '../../../../../test/factories/batch_exports/query_exports.ts';
import { runClient, without } from '../../../../../test/iceberg_clients/run_client.ts';
import { awsSignature } from '../../../../../test/servers/lake/aws_signature.ts';
import { startSigningFront } from '../../../../../test/servers/lake/signing_front.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { destinationDeps } from '../../../exports/engine.ts';
import type { Engine } from '../../../exports/engine.ts';
import { findDestination } from '../../index.ts';
import { file_place } from '../../file/file.ts';
import { s3_place } from '../../s3/s3.ts';
import { liveFiles } from '../live_files.ts';
import { openWorld } from '../open_world.ts';
import { isInPlace } from '../world.ts';
import { openSigner } from './aws_signer.ts';

let uri: string;
const exporting = aroundTests(openQueryHarness, async ({ harness }) => {
  uri = await listenAsCatalog(harness);
});
const keys = { aws_access_key_id: 'AKIAOFTHETEST', aws_secret_access_key: 'secret/of+the=test' };
const region = 'eu-north-1';
const warehouse = 'arn:aws:s3tables:eu-north-1:123456789012:bucket/my-lake';
const scopeOf = (service: string) => ({
  service,
  region,
  credentials: {
    accessKeyId: keys.aws_access_key_id,
    secretAccessKey: keys.aws_secret_access_key,
  },
});
const engineOf = () => exporting.harness.deps.engine;
const depsOf = (engine: Engine = engineOf()) =>
  destinationDeps(engine, new AbortController().signal);

/** A table of our own catalog behind a front that wants signatures for Glue. */
async function newTable() {
  const home = await exporting.harness.newOrganization();
  const team_id = home.project.id;
  const behind = { uri, project: String(team_id), key: home.key };
  const front = await startSigningFront(behind, warehouse, scopeOf('glue'));
  const config = {
    storage: 'File',
    namespace: 'shop',
    table: 'events',
    catalog: 'rest',
    catalog_uri: front.uri,
    catalog_signing_name: 'glue',
    catalog_warehouse: warehouse,
    region,
    ...keys,
  };
  return {
    ...front,
    config,
    deliver: (engine?: Engine) => deliverRows(config, team_id, depsOf(engine)),
    files: async () => {
      const live = await liveFiles(await openWorld(file_place, config, team_id, depsOf()));
      return [...live.values()].map((entries) => entries.length);
    },
    check: async (change: object) =>
      (await findDestination('Iceberg')!.check({ ...config, ...change }, [], depsOf()))[0]!,
  };
}

test("each signature is that of AWS's own signer, whatever the path and the query", async () => {
  const sign = openSigner({ bucket_name: '', region, ...keys }, 's3tables', {
    ...depsOf(),
    clock: systemClock,
  });
  const prefix = encodeURIComponent(warehouse);
  const names = ['plain', "a'(b)*!c~", 'ü ö', 'a%b+c', 'a,b;c:d@e&f=g$h', '雪/と'];
  for (const name of names)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const path = `/iceberg/v1/${prefix}/namespaces/a%1F${encodeURIComponent(name)}/tables/x`;
      const url = new URL(`http://127.0.0.1:1234${path}`);
      for (const value of [...names, 'plain-er']) url.searchParams.set(value, `${value} of a key`);
      const body =
        method === 'POST' ? { body: `{"name":"${name}"}`, type: 'application/json' } : {};
      const sent = await sign({ method, url, headers: {}, ...body });
      const headers = { ...sent.headers, host: sent.url.host };
      const seen = { method, url: sent.url.href.slice(sent.url.origin.length), headers };
      const expected = await awsSignature({ ...seen, body: sent.body ?? '' }, scopeOf('s3tables'));
      assert.equal(sent.headers['authorization'], expected, `${method} ${name}`);
      assert.equal(sent.url.pathname, url.pathname);
      const asked = Object.fromEntries(url.searchParams);
      assert.deepEqual(Object.fromEntries(sent.url.searchParams), asked);
    }
});

test('a session token is signed and sent', async () => {
  const place = { bucket_name: '', region, ...keys, aws_session_token: 'the/token==' };
  const sign = openSigner(place, 's3tables', { ...depsOf(), clock: systemClock });
  const url = new URL('http://127.0.0.1:1234/v1/config');
  const { headers } = await sign({ method: 'GET', url, headers: {} });
  assert.equal(headers['x-amz-security-token'], 'the/token==');
  assert.match(headers['authorization']!, /SignedHeaders=[^,]*x-amz-security-token/);
  const seen = { method: 'GET', url: '/v1/config', headers: { ...headers, host: url.host } };
  assert.equal(
    headers['authorization'],
    await awsSignature({ ...seen, body: '' }, scopeOf('s3tables')),
  );
});

test('signed deliveries: lost answers and another writer double nothing', async () => {
  const table = await newTable();
  await table.deliver();
  await table.deliver(
    withCommits(engineOf(), (send, { count }) => (count > 1 ? send() : lose(send()))),
  );
  await table.deliver(
    withCommits(engineOf(), async (send, { count }) => {
      if (count === 1) throw brokenConnection();
      return send();
    }),
  );
  await table.deliver(
    withCommits(engineOf(), async (send, { count }) => {
      if (count === 1) await table.deliver();
      return send();
    }),
  );
  assert.deepEqual(await table.files(), [1, 1, 1, 1, 1]);
  const prefix = `/v1/${encodeURIComponent(warehouse)}/`;
  const asked = table.let_in.filter((one) => !one.includes('/v1/config'));
  assert.ok(asked.length > 10);
  assert.deepEqual(
    asked.filter((one) => !one.includes(prefix)),
    [],
  );
  await table.close();
});

test('a mistake with the keys is told in the words of AWS', async () => {
  const table = await newTable();
  const told = async (change: object) => (await table.check(change)).detail ?? '';
  assert.equal((await table.check({})).status, 'passed');
  assert.match(
    await told({ aws_secret_access_key: 'wrong' }),
    /AWS refused the signature. Check .* it answered 403 \(The request signature .* details\.\)\.$/,
  );
  assert.match(await told({ aws_access_key_id: 'AKIAANOTHER' }), /security token .* is invalid/);
  assert.match(await told({ region: 'eu-west-1' }), /scoped to a valid region/);
  assert.match(
    await told({ catalog_signing_name: 's3tables' }),
    /catalog_signing_name: .* scoped to correct service: 'glue'/,
  );
  await table.close();
});

const of_table_bucket = {
  storage: 'S3',
  bucket_name: 'my-lake',
  region,
  ...keys,
  catalog: 'rest',
  catalog_signing_name: 's3tables',
  catalog_warehouse: warehouse,
  namespace: 'shop',
  table: 'events',
};

test('a table bucket of AWS has a bucket for each table, and its root is the place', async () => {
  const metadata = { 'format-version': 2, location: 's3://63a8e430-6e0b-46f5--table-s3' };
  const asked: string[] = [];
  const fetch: Engine['outbound']['fetch'] = async (url) => {
    asked.push(String(url));
    return Response.json(String(url).includes('/config') ? {} : { metadata }) as never;
  };
  const engine = { ...engineOf(), outbound: { ...engineOf().outbound, fetch } };
  const world = await openWorld(s3_place, of_table_bucket, 1, depsOf(engine));
  const name = metadata.location.slice('s3://'.length);
  assert.equal(world.root, `${metadata.location}/`);
  assert.equal(isInPlace(world, `${metadata.location}/data/a.parquet`), true);
  assert.equal(isInPlace(world, metadata.location), false);
  const { bucket_name, prefix, is_table_bucket } = world.data;
  assert.deepEqual([bucket_name, prefix, is_table_bucket], [name, '/data', true]);
  const home = 'https://s3tables.eu-north-1.amazonaws.com/iceberg/v1';
  assert.deepEqual(asked, [
    `${home}/config?warehouse=${encodeURIComponent(warehouse)}`,
    `${home}/namespaces/shop/tables/events?snapshots=all`,
  ]);
});

test('the config of a catalog of AWS is checked before any request', () => {
  const attrs = (change: object) =>
    findDestination('Iceberg')!
      .validate({ ...of_table_bucket, ...change })
      .map(({ attr }) => attr);
  assert.deepEqual(attrs({}), []);
  assert.deepEqual(attrs({ catalog_warehouse: 'my-lake' }), ['catalog_warehouse']);
  assert.deepEqual(attrs({ catalog_warehouse: null }), ['catalog_warehouse']);
  assert.deepEqual(attrs({ region: 'eu-west-1' }), ['region']);
  assert.deepEqual(attrs({ region: null }), ['region']);
  assert.deepEqual(attrs({ namespace: 'shop.web' }), ['namespace']);
  assert.deepEqual(attrs({ catalog_token: 'x' }), ['catalog_token']);
  assert.deepEqual(attrs({ aws_access_key_id: null, aws_secret_access_key: null }), [
    'aws_access_key_id',
    'aws_secret_access_key',
  ]);
  assert.deepEqual(attrs({ catalog_signing_name: 'glue', catalog_warehouse: '1' }), []);
  assert.deepEqual(attrs({ catalog_signing_name: null }), ['catalog_uri']);
});

test('PyIceberg signs as Sluice does', { skip: without('pyiceberg', 'boto3') }, async () => {
  const table = await newTable();
  await table.deliver();
  const seen = (service: string, secret: string) =>
    runClient('with_signed_pyiceberg', [
      table.uri,
      warehouse,
      service,
      keys.aws_access_key_id,
      secret,
      'shop',
    ]);
  assert.deepEqual(await seen('glue', keys.aws_secret_access_key), {
    tables: [['shop', 'events']],
  });
  assert.match(String((await seen('glue', 'wrong'))['error']), /request signature we calculated/);
  assert.match(String((await seen('s3tables', keys.aws_secret_access_key))['error']), /scoped/);
  await table.close();
});
