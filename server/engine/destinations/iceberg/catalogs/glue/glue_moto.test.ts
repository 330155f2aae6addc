import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { destinationDeps } from '../../../../../../test/destinations/destination_deps.ts';
import {
  brokenConnection,
  lose,
} from '../../../../../../test/factories/batch_exports/faulty_catalog.ts';
import { deliverRows } from '../../../../../../test/factories/batch_exports/deliver_rows.ts';
import { startMoto, without_moto } from '../../../../../../test/servers/moto.ts';
import type { Moto } from '../../../../../../test/servers/moto.ts';
import { systemClock } from '../../../../../platform/clock.ts';
import type { DestinationDeps } from '../../../../model/destination/destination.ts';
import { sdk } from '../../../object_store/s3_client.ts';
import { findDestination } from '../../../index.ts';
import { s3_place } from '../../../s3/s3.ts';
import { liveFiles } from '../../live_files.ts';
import { openWorld } from '../../open_world.ts';

const iceberg = findDestination('Iceberg')!;
const team_id = 1;
let moto: Moto | undefined;
let deps: DestinationDeps & { outbound: { close(): Promise<void> } };

before(async () => {
  if (without_moto !== false) return;
  moto = await startMoto();
  deps = { ...destinationDeps(), clock: systemClock };
  const client = new (sdk().S3Client)({
    endpoint: moto.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
  });
  await client.send(new (sdk().CreateBucketCommand)({ Bucket: 'lake' }));
});
after(async () => {
  await deps?.outbound.close();
  await moto?.close();
});

const newConfig = () => ({
  storage: 'S3',
  bucket_name: 'lake',
  region: 'us-east-1',
  aws_access_key_id: 'testing',
  aws_secret_access_key: 'testing',
  endpoint_url: moto!.endpoint,
  catalog: 'glue',
  catalog_uri: moto!.endpoint,
  namespace: 'shop',
  table: `t${randomUUID().replaceAll('-', '')}`,
});

const deliver = (config: Record<string, unknown>, own: DestinationDeps) =>
  deliverRows(config, team_id, own);

async function filesOf(config: Record<string, unknown>): Promise<number[]> {
  const live = await liveFiles(await openWorld(s3_place, config, team_id, deps));
  return [...live.values()].map((entries) => entries.length);
}

/** The deps, whose first swap of a metadata file goes as `onSwap` says. */
function withSwap(
  onSwap: (
    send: () => ReturnType<DestinationDeps['outbound']['fetch']>,
  ) => ReturnType<DestinationDeps['outbound']['fetch']>,
): DestinationDeps {
  let is_struck = false;
  const fetch: DestinationDeps['outbound']['fetch'] = (url, init) => {
    const target = ((init?.headers ?? {}) as Record<string, string>)['x-amz-target'];
    const send = () => deps.outbound.fetch(url, init);
    if (target !== 'AWSGlue.UpdateTable' || is_struck) return send();
    is_struck = true;
    return onSwap(send);
  };
  return { ...deps, outbound: { ...deps.outbound, fetch } };
}

for (const format_version of [2, 3])
  test(
    `moto: Glue keeps a table of version ${format_version}, and lost answers double nothing`,
    { skip: without_moto },
    async () => {
      const config = { ...newConfig(), format_version };
      await deliver(config, deps);
      await deliver(
        config,
        withSwap((send) => lose(send())),
      );
      await deliver(
        config,
        withSwap(async () => {
          throw brokenConnection();
        }),
      );
      assert.deepEqual(await filesOf(config), [1, 1, 1]);
      const { catalog } = await openWorld(s3_place, config, team_id, deps);
      assert.equal((await catalog.load())?.metadata['format-version'], format_version);
    },
  );

test('moto: a commit to Glue follows that of another writer', { skip: without_moto }, async () => {
  const config = newConfig();
  await deliver(config, deps);
  // moto 5.2.5 does not compare the version of an entry, so its answer is that of AWS.
  const own = withSwap(async () => {
    await deliver(config, deps);
    const refusal = { __type: 'ConcurrentModificationException', Message: 'Update table failed' };
    return Response.json(refusal, { status: 400 }) as never;
  });
  await deliver(config, own);
  assert.deepEqual(await filesOf(config), [1, 1, 1]);
});

test('moto: a connection test of Glue leaves no table', { skip: without_moto }, async () => {
  const steps = await iceberg.check(newConfig(), [], deps);
  assert.deepEqual(
    steps.filter(({ status }) => status !== 'passed'),
    [],
  );
  assert.equal(steps.length, 8);
});
