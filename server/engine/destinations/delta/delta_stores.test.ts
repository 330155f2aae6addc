import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { inTurn } from '../../../../test/depth.ts';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { freshDelivery, isLasting } from '../../../../test/factories/batch_exports/deliveries.ts';
import { pageOf, smallParquet } from '../../../../test/factories/batch_exports/small_parquet.ts';
import { openAzureServer } from '../../../../test/servers/object_stores/azure_server.ts';
import { openGcsServer } from '../../../../test/servers/object_stores/gcs_server.ts';
import { openS3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import type { FaultyServer } from '../../../../test/servers/faulty_server.ts';
import { systemClock } from '../../../platform/clock.ts';
import { azureblob_place } from '../azureblob/azureblob.ts';
import { gcs_place } from '../gcs/gcs.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import { findDestination } from '../index.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { s3_place } from '../s3/s3.ts';
import { rowsOf } from '../lake/delta_log/live_files.ts';
import { loadTable } from '../lake/delta_log/log.ts';
import { parquetOf } from '../lake/delta_log/parquet_rows.ts';
import { openWorld } from '../lake/delta_log/world.ts';

const delta = findDestination('Delta')!;
const plain = { ...destinationDeps(), clock: systemClock };
const text = { name: 'text', type: 'text', nullable: true, expression: 'text' } as const;
const [bucket, careless] = ['tables', 'careless'];

/** A store that speaks its own protocol, and the config of a place in it. */
type Store = {
  place: LakePlace;
  config: Config;
  server: FaultyServer;
  entry: RegExp;
  deps: DestinationDeps;
};
const stores = new Map<string, Store>();
const servers: FaultyServer[] = [];

before(async () => {
  const s3 = await openS3Server([bucket], { overwrites: careless });
  const keys = { aws_access_key_id: s3.access_key, aws_secret_access_key: s3.secret_key };
  const config = { region: 'us-east-1', endpoint_url: s3.endpoint, ...keys };
  const entry = /^PUT .*_delta_log\/\d+\.json/;
  stores.set('S3', {
    place: s3_place,
    config: { ...config, bucket_name: bucket },
    server: s3,
    entry,
    deps: plain,
  });
  stores.set('careless', {
    place: s3_place,
    config: { ...config, bucket_name: careless },
    server: s3,
    entry,
    deps: plain,
  });
  const gcs = await openGcsServer([bucket]);
  stores.set('GCS', {
    place: gcs_place,
    config: {
      bucket_name: bucket,
      service_account_json: gcs.service_account_json,
      endpoint_url: gcs.endpoint,
    },
    server: gcs,
    entry: /^POST .*_delta_log%2F\d+\.json/,
    deps: { ...plain, outbound: gcs.reroute(plain.outbound) },
  });
  const azure = await openAzureServer();
  const { account_name, account_key, endpoint } = azure;
  const azure_config = {
    account_name,
    account_key,
    endpoint_url: endpoint,
    container_name: bucket,
  };
  stores.set('AzureBlob', {
    place: azureblob_place,
    config: azure_config,
    server: azure,
    entry,
    deps: plain,
  });
  servers.push(s3, gcs, azure);
});

after(async () => {
  await plain.outbound.close();
  for (const server of servers) await server.close();
});

function newTable(name: string) {
  const { place, config: own, ...store } = stores.get(name)!;
  const storage = place.definition.type;
  const config = { ...own, storage, table: 'events', prefix: `p${randomUUID()}` };
  return { ...store, place, config };
}

async function deliver(
  { config, deps }: ReturnType<typeof newTable>,
  more: Partial<Delivery> = {},
  bytes: Buffer = smallParquet(pageOf(2), 2),
) {
  const delivery = freshDelivery({ columns: [text], ...more });
  const sink = await delta.open(config, delivery, deps);
  await sink.recover([]);
  const slice = { number: 0, records: 2, is_last: true } as const;
  const written = await sink.write(slice, Readable.from([bytes]));
  const outcomes = [{ number: 0, records: 2, bytes: 0, sha256: '', ...written }];
  const { delivery_id } = delivery;
  const slices = [{ name: written.name }];
  const manifest = JSON.stringify({ version: 1, delivery_id, slices });
  await sink.commit(outcomes, { name: 'manifest', text: manifest });
  assert.equal(await sink.isCommitted(), true);
  await sink.close();
  return { delivery, outcomes, manifest };
}

for (const name of inTurn(['S3', 'GCS', 'AzureBlob'], 3))
  test(`${name}: a table has each delivery once, also if an answer was lost`, async (context) => {
    const table = newTable(name);
    if (name === 'AzureBlob') await createContainer(table.config);
    const steps = await delta.check(table.config, [text], table.deps);
    assert.deepEqual(
      steps.filter(({ status }) => status !== 'passed'),
      [],
    );
    const delivered = [await deliver(table)];
    await context.test('the client sends the entry again, and finds its own', async () => {
      table.server.loseNext(table.entry);
      delivered.push(await deliver(table));
      assert.ok(table.server.requests.filter((one) => table.entry.test(one)).length >= 3);
    });
    const { log } = await openWorld(table.place, table.config, 7, table.deps);
    const { version, adds } = await loadTable(log);
    assert.deepEqual([version, adds.size], [1, 2]);
    assert.deepEqual(await delta.verify(table.config, delivered, sourceOf([]), table.deps), []);
    await log.files.remove(delivered[0]!.outcomes[0]!.name);
    assert.deepEqual(
      (await delta.verify(table.config, delivered, sourceOf([]), table.deps)).map(
        ({ kind }) => kind,
      ),
      ['missing'],
    );
  });

for (const name of ['S3', 'GCS', 'AzureBlob'])
  test(`${name}: a table is replaced and merged into, also if an answer was lost`, async () => {
    const table = newTable(name);
    if (name === 'AzureBlob') await createContainer(table.config);
    const batch_export_id = randomUUID();
    await deliver(table, { batch_export_id });
    const generation = '2026-01-01T02:00:00.000Z';
    const earlier = { batch_export_id, generation: '2026-01-01T01:00:00.000Z' };
    table.server.loseNext(table.entry);
    await deliver(table, { batch_export_id, generation });
    await assert.rejects(deliver(table, earlier), /later run has written/);
    const opened = await openWorld(table.place, table.config, 7, table.deps);
    const { version, adds, removes } = await loadTable(opened.log);
    assert.deepEqual([version, adds.size, removes.size], [1, 1, 1]);

    const merged = newTable(name);
    const columns = [
      text,
      { name: 'n', type: 'integer', nullable: true, expression: 'n' } as const,
    ];
    const rows = (values: [string, number][]) =>
      parquetOf(
        [
          { name: 'text', of: 'text' },
          { name: 'n', of: 'long' },
        ],
        values.map(([key, n]) => ({ text: key, n })),
      );
    const merge = { key: ['text'], versions: ['n'] };
    const given = { batch_export_id, columns, merge };
    await deliver(
      merged,
      given,
      rows([
        ['a', 1],
        ['b', 1],
      ]),
    );
    merged.server.loseNext(merged.entry);
    await deliver(
      merged,
      given,
      rows([
        ['a', 2],
        ['c', 1],
      ]),
    );
    const world = await openWorld(merged.place, merged.config, 7, merged.deps);
    const found: string[] = [];
    for await (const row of rowsOf(world, await loadTable(world.log), columns))
      found.push(row.join(' '));
    assert.deepEqual(found.toSorted(), ['a 2', 'b 1', 'c 1']);
  });

test('a store that ignores the condition is refused, by the test and by a run', async () => {
  const table = newTable('careless');
  const steps = await delta.check(table.config, [text], table.deps);
  const { status, detail } = steps.at(-1)!;
  assert.equal(status, 'failed');
  assert.match(detail, /writes over an object although the request forbids it/);
  await assert.rejects(deliver(table), isLasting('request_refused'));
  const { log } = await openWorld(table.place, table.config, 7, table.deps);
  assert.deepEqual(
    await Array.fromAsync(log.files.list(table.config.prefix + '/events/_sluice')),
    [],
  );
});

async function createContainer(config: Config): Promise<void> {
  const { ContainerClient, StorageSharedKeyCredential } = await import('@azure/storage-blob');
  const credential = new StorageSharedKeyCredential(
    String(config['account_name']),
    String(config['account_key']),
  );
  const url = `${String(config['endpoint_url'])}/${bucket}`;
  await new ContainerClient(url, credential).createIfNotExists();
}
