import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openTableStore } from '../../../../test/factories/batch_exports/table_stores.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { openLakePlace } from './open_place.ts';

const harness = shareHarness();

for (const name of ['S3', 'GCS', 'AzureBlob'] as const)
  test(`${name}: files of a table are read, and removed without those beside it`, async () => {
    const { db, engine } = harness.deps;
    const home = await harness.newOrganization();
    const store = await openTableStore(name, harness);
    try {
      const config = { ...store.config(), table: 'events' };
      const { id } = await newExport(home, { destination: { type: 'Iceberg', config } });
      const place = await openLakePlace(engine, db, home.project.id, id);
      const uris = ['table/a', 'table/metadata/b', 'table-other/c'].map(
        (path) => `${place.root}/${path}`,
      );
      for (const uri of uris) await place.writeFile(uri, `text of ${uri}`);
      const read = () =>
        Promise.all(uris.map(async (uri) => (await place.readFile(uri))?.toString()));
      assert.deepEqual(
        await read(),
        uris.map((uri) => `text of ${uri}`),
      );
      await place.removeAll(`${place.root}/table`);
      assert.deepEqual(await read(), [undefined, undefined, `text of ${uris[2]}`]);
      await assert.rejects(async () => place.readFile(`${place.root}/../a`), /lies outside of/);
    } finally {
      await store.close();
    }
  });
