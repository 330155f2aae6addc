import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { inTurn } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { newLakeTable } from '../../../../test/factories/batch_exports/lake_tables.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import {
  openTableStore,
  table_stores,
  withoutStore,
} from '../../../../test/factories/batch_exports/table_stores.ts';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import type { Engine } from '../engine.ts';
import { verifyExports } from '../verification/verify_exports.ts';
import { maintainTable } from './maintain.ts';

const exporting = aroundTests(openQueryHarness);
const { ask, work } = erasing(() => exporting);
const everything = { is_daily: true, cleans: true };

function later(hours: number): Engine {
  const { engine } = exporting.harness.deps;
  return { ...engine, clock: { ...engine.clock, now: () => Date.now() + hours * 3_600_000 } };
}

for (const name of inTurn(table_stores, table_stores.length))
  test(
    `${name}: a table is compacted, cleaned and erased from`,
    { skip: withoutStore(name) },
    async () => {
      const store = await openTableStore(name, exporting.harness);
      try {
        const table = await newLakeTable(exporting, {
          hours: 4,
          events: 3,
          distinct_id: (n) => (n % 3 === 0 ? 'ada@example.com' : `person-${n}`),
          config: store.config(),
        });
        const before = await table.rows(['uuid', 'event']);
        assert.equal(before.length, 12);
        const { files, table: stored } = await table.open();
        const all = () => Array.fromAsync(files.list(stored.location));
        const data = async () => (await all()).filter((uri) => uri.endsWith('.parquet'));
        const first = await data();
        assert.equal(first.length, 4);
        const orphan = `${stored.location}/metadata/${randomUUID()}-m0.avro`;
        const foreign = `${stored.location}/metadata/statistics.puffin`;
        for (const uri of [orphan, foreign]) await files.put(uri, 'x');
        const { result } = await maintainTable(await table.open(), everything);
        assert.deepEqual([result.files_compacted, result.files_written], [4, 1]);
        const cleaned = await maintainTable(await table.open(later(24 * 4)), everything);
        assert.equal(cleaned.result.data_files_removed, 4);
        assert.ok(cleaned.result.orphans_removed >= 1);
        const left = await all();
        for (const uri of [...first, orphan]) assert.ok(!left.includes(uri), uri);
        assert.ok(left.includes(foreign));
        assert.deepEqual(await table.rows(['uuid', 'event']), before);
        await table.checkWhole();
        const { engine } = exporting.harness.deps;
        const differences = (await verifyExports(engine, table.export_id)).flatMap(
          (one) => one.differences,
        );
        assert.deepEqual(differences, []);

        const compacted = await data();
        const { body } = await ask(table.home, 'POST', 'erasures/', {
          distinct_ids: ['ada@example.com'],
        });
        const done = await work(table.home, body.id);
        const { counts, copies_for_you } = JSON.parse(done.certificate as string);
        assert.deepEqual([counts.lake_files, copies_for_you], [1, []]);
        const ids = (await table.rows(['distinct_id'])).map(([id]) => id);
        assert.equal(ids.length, 8);
        assert.ok(!ids.includes('ada@example.com'));
        const after = await all();
        for (const uri of compacted) assert.ok(!after.includes(uri), uri);
        for (const uri of after)
          assert.ok(!(await files.read(uri))!.includes('ada@example.com'), uri);
        await table.checkWhole();
      } finally {
        await store.close();
      }
    },
  );
