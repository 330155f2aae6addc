import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  base,
  bucketOf,
  bucket_name,
  deps,
  openAroundTests,
} from '../../../../test/destinations/s3_world.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { sourceOf } from '../../../../test/factories/batch_exports/content_sources.ts';
import { freshDelivery, isLasting } from '../../../../test/factories/batch_exports/deliveries.ts';
import { pageOf, smallParquet } from '../../../../test/factories/batch_exports/small_parquet.ts';
import { openHarness } from '../../../../test/harness.ts';
import { findDestination } from '../index.ts';
import { s3_place } from '../s3/s3.ts';
import { liveFiles } from './live_files.ts';
import { openWorld } from './open_world.ts';

openAroundTests();
const harness = aroundTests(() => openHarness({ clickhouse: false }));
const iceberg = findDestination('Iceberg')!;
const text = { name: 'text', type: 'text', nullable: true, expression: 'text' } as const;

test('a table in a bucket names its objects, and a damaged one is found', async () => {
  const home = await harness.newOrganization();
  const owner = { team_id: home.project.id, batch_export_id: (await newExport(home)).id };
  const delivery = freshDelivery({ ...owner, columns: [text] });
  const config = { ...base, prefix: `lake-${randomUUID()}`, storage: 'S3', table: 'events' };
  const own = { ...deps, db: harness.deps.db, clock: harness.deps.clock };
  const sink = await iceberg.open(config, delivery, own);
  assert.deepEqual(await sink.recover([]), []);
  const written = await sink.write(
    { number: 0, records: 2, is_last: true },
    Readable.from([smallParquet(pageOf(2), 2)]),
  );
  const outcomes = [{ number: 0, records: 2, bytes: 0, sha256: '', ...written }];
  const slices = [{ name: written.name }];
  const manifest = JSON.stringify({ version: 1, delivery_id: delivery.delivery_id, slices });
  await sink.commit(outcomes, { name: 'manifest', text: manifest });
  assert.equal(await sink.isCommitted(), true);
  await sink.abort(outcomes);
  await sink.close();

  const world = await openWorld(s3_place, config, owner.team_id, own);
  const [[path, entries] = ['', []]] = [...(await liveFiles(world))];
  assert.equal(path, `s3://${bucket_name}/${written.name}`);
  assert.deepEqual(
    entries.map(({ records, bytes }) => [records, bytes]),
    [[2, written.bytes]],
  );
  const stored = await (await bucketOf(config).read(written.name))!.toArray();
  const sha256 = createHash('sha256').update(Buffer.concat(stored)).digest('hex');
  assert.equal(sha256, written.sha256);

  const delivered = [{ delivery, outcomes, manifest }];
  const verified = () => iceberg.verify(config, delivered, sourceOf([]), own);
  assert.deepEqual(await verified(), []);
  await bucketOf(config).remove(written.name);
  assert.deepEqual(
    (await verified()).map(({ kind, name }) => [kind, name]),
    [['missing', written.name]],
  );

  // Rows of another type do not go into the table, and nothing is written for them.
  const other = freshDelivery({ ...owner, columns: [{ ...text, type: 'integer' }] });
  const refused = await iceberg.open(config, other, own);
  const rows = Readable.from([smallParquet(pageOf(2), 2)]);
  await assert.rejects(
    refused.write({ number: 0, records: 2, is_last: true }, rows),
    isLasting('table_unsuitable'),
  );
  await refused.close();
});
