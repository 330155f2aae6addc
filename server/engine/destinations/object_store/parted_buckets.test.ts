import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { inTurn } from '../../../../test/depth.ts';
import { commandOn, openEmptyStores, passphrase } from '../../../../test/factories/backups.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { killRun } from '../../../../test/processes/killed_run.ts';
import { openAzureServer } from '../../../../test/servers/object_stores/azure_server.ts';
import type { AzureServer } from '../../../../test/servers/object_stores/azure_server.ts';
import { openGcsServer } from '../../../../test/servers/object_stores/gcs_server.ts';
import type { GcsServer } from '../../../../test/servers/object_stores/gcs_server.ts';
import { openS3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import type { FaultyServer } from '../../../../test/servers/faulty_server.ts';
import { createBackup } from '../../../cli/backup/backup.ts';
import { openPlace } from '../../../cli/backup/places/open_place.ts';
import { chooseBackup } from '../../../cli/backup/manifest.ts';
import { restoreBackup } from '../../../cli/backup/restore.ts';
import { openClickHouse } from '../../../platform/clickhouse/client.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { openDatabase } from '../../../platform/postgres/database.ts';
import { reconcileAll } from '../../exports/reconcile/reconcile.ts';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { workVerifications } from '../../exports/verification/work.ts';
import { openBucket } from './s3_bucket.ts';

/** A store of objects, as a person has it beside Sluice. */
type Store = {
  server: FaultyServer;
  config: (prefix: string) => Record<string, unknown>;
  names: (prefix: string) => Promise<string[]>;
  read: (name: string) => Promise<string>;
  remove: (name: string) => Promise<unknown>;
  /** Uploads that nobody has ended. */
  openUploads: (prefix: string) => Promise<string[]>;
  /** The requests that send the file of the event `b`, and that show it. */
  writing: RegExp;
  showing: RegExp;
  google?: string;
};

const bucket = 'parted';
const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
let s3: S3Server;
let gcs: GcsServer;
let azure: AzureServer;
let world: QueryHarness;
const stores: Record<string, Store> = {};

before(async () => {
  [s3, gcs, azure] = await Promise.all([
    openS3Server([bucket]),
    openGcsServer([bucket]),
    openAzureServer(),
  ]);
  stores['S3'] = ofS3();
  stores['GCS'] = ofGcs();
  stores['AzureBlob'] = await ofAzure();
  world = await openQueryHarness({ deps: { outbound: gcs.reroute(outbound) } });
});
after(async () => {
  await world?.close();
  await Promise.all([s3?.close(), gcs?.close(), azure?.close(), outbound.close()]);
});

function ofS3(): Store {
  const access = {
    bucket_name: bucket,
    region: 'us-east-1',
    aws_access_key_id: s3.access_key,
    aws_secret_access_key: s3.secret_key,
    endpoint_url: s3.endpoint,
  };
  const opened = () => openBucket(access, outbound, new AbortController().signal);
  return {
    server: s3,
    config: (prefix) => ({ ...access, prefix }),
    names: (prefix) => Array.fromAsync(opened().list(`${prefix}/`, { direct: false })),
    read: async (name) =>
      Buffer.concat((await (await opened().read(name))!.toArray()) as Buffer[]).toString(),
    remove: (name) => opened().remove(name),
    openUploads: async (prefix) => s3.openUploads(bucket).filter((key) => key.startsWith(prefix)),
    writing: /^PUT .*event(=|%3D)b\/.*partNumber=1/,
    showing: /^POST .*event(=|%3D)b\/.*uploadId=/,
  };
}

function ofGcs(): Store {
  const { service_account_json, endpoint: endpoint_url } = gcs;
  const objects = () => gcs.objects(bucket);
  return {
    server: gcs,
    google: endpoint_url,
    config: (prefix) => ({ bucket_name: bucket, prefix, service_account_json, endpoint_url }),
    names: async (prefix) => [...objects().keys()].filter((name) => name.startsWith(prefix)),
    read: async (name) => objects().get(name)!.bytes.toString(),
    remove: async (name) => objects().delete(name),
    openUploads: async (prefix) => gcs.openUploads(bucket).filter((key) => key.startsWith(prefix)),
    writing: /^PUT .*event%3Db\/.*partNumber=1/,
    showing: /^POST .*event%3Db\/.*uploadId=/,
  };
}

async function ofAzure(): Promise<Store> {
  const { account_name, account_key, endpoint: endpoint_url } = azure;
  const credential = new StorageSharedKeyCredential(account_name, account_key);
  const container = new ContainerClient(`${endpoint_url}/${bucket}`, credential);
  await container.create();
  const list = async (prefix: string, includeUncommitedBlobs: boolean) => {
    const found = container.listBlobsFlat({ prefix, includeUncommitedBlobs });
    return (await Array.fromAsync(found)).map(({ name }) => name);
  };
  return {
    server: azure,
    config: (prefix) => ({
      container_name: bucket,
      prefix,
      account_name,
      account_key,
      endpoint_url,
    }),
    names: (prefix) => list(prefix, false),
    read: async (name) => (await container.getBlobClient(name).downloadToBuffer()).toString(),
    remove: (name) => container.deleteBlob(name),
    openUploads: async (prefix) => {
      const shown = new Set(await list(prefix, false));
      return (await list(prefix, true)).filter((name) => !shown.has(name));
    },
    writing: /^PUT .*event(=|%3D)b\/.*comp=block&/,
    showing: /^PUT .*event(=|%3D)b\/.*comp=blocklist/,
  };
}

const event = (name: string, hour: number) => ({ event: name, at: `2026-01-01T0${hour}:10:00Z` });
/** Events of three kinds in each of the three hours. */
const events = [0, 1, 2].flatMap((hour) => ['a', 'b', 'c'].map((name) => event(name, hour)));
const folders = ['a', 'b', 'c'].map((name) => `dt=2026-01-01/event=${name}`);

/** An export to the store, its files by day and event. */
async function partedTo(type: string, prefix: string) {
  const home = await world.harness.newOrganization();
  await world.insert(home, events);
  const store = stores[type]!;
  const config = { ...store.config(prefix), partition_by: ['date', 'event'] };
  return { home, store, ...(await world.scheduled(home, { destination: { type, config } }, 1)) };
}

/** The names below a prefix: those of rows by their folders, and the number of receipts. */
async function shown({ names }: Store, prefix: string) {
  const all = (await names(prefix)).toSorted();
  const rows = all.filter((name) => !name.includes('/_sluice/'));
  return {
    all,
    rows,
    folders: rows.map((name) => name.slice(prefix.length + 1, name.lastIndexOf('/'))),
    receipts: all.length - rows.length,
  };
}

async function differences(id: string) {
  const [finding] = await verifyExports(world.harness.deps.engine, id);
  assert.equal(finding!.fault, null);
  return finding!.differences.map(({ kind, name }) => [kind, name]);
}

const kills = ['S3', 'GCS', 'AzureBlob'].flatMap((type) =>
  (['writing', 'showing'] as const).map((place) => ({ type, place })),
);
for (const { type, place } of inTurn(kills, 3))
  test(`a worker killed while ${place} a partition in ${type} leaves each row once`, async () => {
    const prefix = `killed_${type}_${place}`;
    const { id, store, send, get } = await partedTo(type, prefix);
    const [run] = await world.plan(id);
    const orders = { run_id: run!.id, google: store.google };
    await killRun(world.harness, orders, store.server, store[place]);
    const halfway = await shown(store, prefix);
    assert.deepEqual(
      [halfway.folders, halfway.receipts],
      [place === 'writing' ? [] : folders.slice(0, 1), 0],
    );
    const [done] = await world.runAll(id);
    assert.deepEqual([done!.status, done!.attempt, done!.latest_error], ['Completed', 2, null]);
    const whole = await shown(store, prefix);
    assert.deepEqual([whole.folders, whole.receipts], [folders, 1]);
    assert.deepEqual(await store.openUploads(prefix), []);
    assert.deepEqual(await differences(id), []);

    const [lost] = whole.rows;
    const bytes = await store.read(lost!);
    assert.equal(JSON.parse(bytes).event, 'a');
    await store.remove(lost!);
    assert.deepEqual(await differences(id), [['missing', lost]]);
    const { body: verification } = await send('POST', 'verifications/', {});
    await workVerifications(world.harness.deps.engine, new AbortController().signal);
    const { body } = await get(`verifications/${verification.id}/findings/`);
    const delivery = body.results[0].delivery.id;
    const repair = await send('POST', `verifications/${verification.id}/repair/`, { delivery });
    assert.deepEqual([repair.status, repair.body.action], [201, 'rewrite'], repair.text);
    await world.runAll(id);
    assert.equal(await store.read(lost!), bytes);
    assert.deepEqual((await shown(store, prefix)).rows, whole.rows);
    assert.deepEqual(await differences(id), []);
  });

test('partitions that are later than a backup are entered by their receipts', async () => {
  const types = ['S3', 'GCS', 'AzureBlob'];
  const prefixes = types.map((type) => `reconciled_${type}`);
  const exports: Awaited<ReturnType<typeof partedTo>>[] = [];
  for (const [at, type] of types.entries()) exports.push(await partedTo(type, prefixes[at]!));
  for (const { id } of exports) await world.runAll(id);
  const { folder, harness } = world;
  const context = commandOn(harness.stores, folder);
  const place = openPlace(join(folder, 'backup'));
  await createBackup(context, place, { passphrase, rows_per_file: 1_000 });
  for (const { id } of exports) await world.extend(id, 3);
  for (const { id } of exports) await world.runAll(id);
  const names = () =>
    Promise.all(exports.map(async ({ store }, at) => (await shown(store, prefixes[at]!)).all));
  const before_it = await names();
  assert.deepEqual(
    before_it.map((all) => all.length),
    [12, 12, 12],
  );

  const empty = await openEmptyStores(harness.stores, `restored_${randomBytes(5).toString('hex')}`);
  const restored = commandOn(empty, folder);
  restored.config.data_dir = join(empty.folder, 'data');
  await restoreBackup(restored, place, await chooseBackup(place), passphrase);
  const again = await openQueryHarness({
    clickhouse: false,
    deps: {
      outbound: gcs.reroute(outbound),
      db: openDatabase(empty.database_url, { connections_max: 8, application_name: 'sluice-test' }),
      clickhouse: openClickHouse(empty.clickhouse_url, { application: 'sluice-test' }),
    },
  });
  try {
    // The restore itself does not reach Google's service of tokens.
    await reconcileAll(again.harness.deps.engine);
    for (const { id } of exports) {
      await again.extend(id, 3);
      const runs = await again.runAll(id);
      const ended = new Set(runs.map(({ status }) => status));
      assert.deepEqual([...ended], ['Completed']);
      const [finding] = await verifyExports(again.harness.deps.engine, id);
      assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
    }
    assert.deepEqual(await names(), before_it);
  } finally {
    await again.close();
    await empty.close();
  }
});
