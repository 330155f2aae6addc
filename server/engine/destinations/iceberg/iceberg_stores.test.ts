import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { inTurn } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { freshDelivery } from '../../../../test/factories/batch_exports/deliveries.ts';
import { pageOf, smallParquet } from '../../../../test/factories/batch_exports/small_parquet.ts';
import { openHarness } from '../../../../test/harness.ts';
import { openAzureServer } from '../../../../test/servers/object_stores/azure_server.ts';
import { openGcsServer } from '../../../../test/servers/object_stores/gcs_server.ts';
import { azureblob_place } from '../azureblob/azureblob.ts';
import { gcs_place } from '../gcs/gcs.ts';
import { destinationDeps } from '../../exports/engine.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { findDestination } from '../index.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

const bucket = 'tables';
const harness = aroundTests(() => openHarness({ clickhouse: false }));
const gcs = aroundTests(() => openGcsServer([bucket]));
const azure = aroundTests(openAzureServer);
const iceberg = findDestination('Iceberg')!;
const text = { name: 'text', type: 'text', nullable: true, expression: 'text' } as const;

type Store = { place: LakePlace; config: Config; root: RegExp; deps: DestinationDeps };

function gcsStore(): Store {
  const deps = destinationDeps(harness.deps.engine, new AbortController().signal);
  return {
    place: gcs_place,
    config: {
      bucket_name: bucket,
      service_account_json: gcs.service_account_json,
      endpoint_url: gcs.endpoint,
    },
    root: /^gs:\/\/tables\//,
    deps: { ...deps, outbound: gcs.reroute(deps.outbound) },
  };
}

async function azureStore(): Promise<Store> {
  const { account_name, account_key, endpoint } = azure;
  const { ContainerClient, StorageSharedKeyCredential } = await import('@azure/storage-blob');
  const credential = new StorageSharedKeyCredential(account_name, account_key);
  await new ContainerClient(`${endpoint}/${bucket}`, credential).createIfNotExists();
  return {
    place: azureblob_place,
    config: { account_name, account_key, endpoint_url: endpoint, container_name: bucket },
    root: /^abfss:\/\/tables@/,
    deps: destinationDeps(harness.deps.engine, new AbortController().signal),
  };
}

for (const [name, open] of inTurn(
  [
    ['GCS', async () => gcsStore()],
    ['AzureBlob', azureStore],
  ] as const,
  2,
))
  test(`${name}: a table is appended to, replaced and read back`, async () => {
    const { place, config: own, root, deps } = await open();
    const home = await harness.newOrganization();
    const owner = { team_id: home.project.id, batch_export_id: (await newExport(home)).id };
    const prefix = `p${randomUUID()}`;
    const config = { ...own, storage: place.definition.type, table: 'events', prefix };
    const deliver = async (generation?: string) => {
      const delivery = freshDelivery({
        ...owner,
        columns: [text],
        ...(generation === undefined ? {} : { generation }),
      });
      const sink = await iceberg.open(config, delivery, deps);
      assert.deepEqual(await sink.recover([]), []);
      const slice = { number: 0, records: 2, is_last: true } as const;
      const written = await sink.write(slice, Readable.from([smallParquet(pageOf(2), 2)]));
      const outcomes = [{ number: 0, records: 2, bytes: 0, sha256: '', ...written }];
      const slices = [{ name: written.name }];
      const manifest = JSON.stringify({ version: 1, delivery_id: delivery.delivery_id, slices });
      await sink.commit(outcomes, { name: 'manifest', text: manifest });
      assert.equal(await sink.isCommitted(), true);
      await sink.close();
      return { delivery, outcomes, manifest };
    };
    const live = async () =>
      liveFiles(await openWorld(place, config, owner.team_id, deps)).then((one) => [...one.keys()]);
    await deliver();
    await deliver();
    assert.equal((await live()).length, 2);
    const latest = await deliver('2026-01-01T02:00:00.000Z');
    const [only, ...more] = await live();
    assert.match(only!, root);
    assert.ok(only!.endsWith(latest.outcomes[0]!.name));
    assert.deepEqual(more, []);
    // Files of the deliveries before it are still there, for older snapshots.
    const differences = await iceberg.verify(config, [latest], sourceOf([]), deps);
    assert.deepEqual(
      differences.filter(({ kind }) => kind !== 'added'),
      [],
    );
    await assert.rejects(deliver('2026-01-01T01:00:00.000Z'), /later run has written/);
  });
