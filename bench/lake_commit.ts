// Commits to a table of our own Iceberg catalog that has 10,000 snapshots, in the export folder:
// manifest, manifest list, metadata file, and the transaction. Run:
//   npm run bench lake_commit [-- --snapshots 10000 --rounds 20]
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { newExport } from '../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../test/harness.ts';
import { destinationDeps } from '../server/engine/exports/engine.ts';
import { file_place } from '../server/engine/destinations/file/file.ts';
import { openWorld } from '../server/engine/destinations/iceberg/open_world.ts';
import { showFiles } from '../server/engine/destinations/iceberg/show.ts';
import type { StoredFile } from '../server/engine/destinations/iceberg/show.ts';
import { locationOf } from '../server/engine/destinations/iceberg/world.ts';
import { newSchema } from '../server/engine/destinations/lake/schema.ts';
import type { Delivery } from '../server/engine/model/destination/destination.ts';
import { readBenchOptions, tell } from './measure/figures.ts';

const options = readBenchOptions({ snapshots: '10000', rounds: '20' });
const snapshots = Number(options.snapshots);
const statistics = {
  column_sizes: [],
  value_counts: [],
  null_counts: [],
  lower_bounds: [],
  upper_bounds: [],
  split_offsets: [],
};

async function main(): Promise<void> {
  const harness = await openHarness({ clickhouse: false });
  const export_dir = await mkdtemp(join(tmpdir(), 'sluice-lake-commit-'));
  try {
    const home = await harness.newOrganization();
    const config = { storage: 'File', table: 'events' };
    const { id } = await newExport(home, { destination: { type: 'Iceberg', config } });
    const engine = { ...harness.deps.engine, export_dir };
    const { db } = engine;
    const world = await openWorld(
      file_place,
      config,
      home.project.id,
      destinationDeps(engine, new AbortController().signal),
    );
    const delivery = { batch_export_id: id, team_id: home.project.id } as Delivery;
    const table = await world.catalog.create(
      {
        location: locationOf(world),
        schema: newSchema([{ name: 'event', type: 'text' }]),
        properties: {},
      },
      delivery,
    );
    const show = (number: number) =>
      showFiles(
        world,
        {
          delivery: { ...delivery, delivery_id: randomUUID() },
          table_uuid: table.metadata['table-uuid'],
          files: [fileOf(number)],
          removed: new Set(),
        },
        (work) => db.transaction(work),
      );
    await show(0);
    await plantSnapshots(harness.deps.db, home.project.id);
    const took: number[] = [];
    for (let round = 1; round <= Number(options.rounds); round += 1) {
      const began = performance.now();
      await show(round);
      took.push(performance.now() - began);
    }
    tell({
      what: `a commit beside ${snapshots} snapshots`,
      unit: 'ms',
      better: 'less',
      ours: took,
    });
  } finally {
    await harness.close();
    await rm(export_dir, { recursive: true, force: true });
  }
}

function fileOf(number: number): StoredFile {
  const name = `lake/data/${number}.parquet`;
  const place = { partition: [], spec_id: 0, sort_order_id: 0 };
  return { name, records: 1_000, bytes: 100_000, statistics, ...place };
}

/** Gives the first snapshot this many ancestors, each with its own delivery. */
async function plantSnapshots(
  db: Awaited<ReturnType<typeof openHarness>>['deps']['db'],
  team_id: number,
): Promise<void> {
  await db.run(sql`
    WITH first AS (
      SELECT table_id, snapshot_id, timestamp_ms, snapshot::jsonb AS snapshot
      FROM lake_snapshots WHERE table_id = (SELECT id FROM lake_tables WHERE team_id = ${team_id})
    ), planted AS (
      INSERT INTO lake_snapshots (table_id, snapshot_id, timestamp_ms, parent_id, delivery_id,
        snapshot)
      SELECT table_id, n, timestamp_ms, nullif(n - 1, 0), 'planted ' || n, (snapshot
        || jsonb_build_object('snapshot-id', n, 'parent-snapshot-id', n - 1)
        || jsonb_build_object('summary', snapshot -> 'summary'
          || jsonb_build_object('sluice.delivery-id', 'planted ' || n)))::text
      FROM first, generate_series(1, ${snapshots}::bigint) n ORDER BY n RETURNING table_id
    ), logged AS (
      INSERT INTO lake_snapshot_log (table_id, snapshot_id, timestamp_ms)
      SELECT table_id, n, timestamp_ms FROM first, generate_series(1, ${snapshots}::bigint) n
    )
    SELECT count(*) FROM planted`);
  await db.run(sql`UPDATE lake_snapshots SET parent_id = ${snapshots}::bigint
    WHERE table_id = (SELECT id FROM lake_tables WHERE team_id = ${team_id})
      AND delivery_id NOT LIKE 'planted%'`);
  await db.text('VACUUM ANALYZE lake_snapshots');
}

await main();
