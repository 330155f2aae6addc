// Plays random histories of an export on the real control store and checks each to the row, as
// server/engine/exports/planning/histories.test.ts does with fewer. With --cluster their rows lie
// on the stand-in for a ClickHouse cluster, which misbehaves meanwhile: npm run histories
// [-- --histories 1000 --seed 7 --cluster]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../server/platform/clickhouse/migrate.ts';
import { openRandom } from '../../test/chaos/random.ts';
import { openStandIn } from '../../test/clickhouse_cluster/cluster.ts';
import { campaign_trouble } from '../../test/clickhouse_cluster/nemesis.ts';
import { no_trouble } from '../../test/clickhouse_cluster/settings.ts';
import { openHarness } from '../../test/harness.ts';
import { checkHistories } from '../../test/histories/check.ts';
import { openClusterSource } from '../../test/histories/cluster_source.ts';
import { anySeed, readOptions } from '../options.ts';

const { histories, seed, ...options } = readOptions({
  histories: 1_000,
  seed: anySeed(),
  cluster: false,
});
const migrations = fileURLToPath(new URL('../../migrations/clickhouse', import.meta.url));

/** A client of a stand-in, which is created whole first and misbehaves from then on. */
async function openCluster() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-histories-'));
  const trouble = { ...no_trouble };
  const stand_in = await openStandIn({ folder, trouble, random: openRandom(seed, 4) });
  const clickhouse = openClickHouse(stand_in.urls, { application: 'sluice-histories' });
  const { cluster: name, database } = stand_in.cluster.settings;
  clickhouse.mode = { kind: 'replicated_database', cluster: name, database };
  await migrateClickHouse(clickhouse, migrations);
  Object.assign(trouble, campaign_trouble, { fetch_ms_max: 150, late_ms_max: 150 });
  const close = async () => {
    await stand_in.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { clickhouse, close };
}

const cluster = options.cluster ? await openCluster() : undefined;
const deps = cluster === undefined ? {} : { deps: { clickhouse: cluster.clickhouse } };
const harness = await openHarness({ clickhouse: false, ...deps });
try {
  console.log(
    `${histories} histories, seed ${seed}${cluster === undefined ? '' : ', on a cluster'}`,
  );
  const began = performance.now();
  const source = cluster === undefined ? {} : { source: openClusterSource(cluster.clickhouse) };
  const runs = await checkHistories(harness, histories, { seed, ...source });
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `seed ${seed}: what was delivered is the source in all ${histories} histories; runs ` +
      `${JSON.stringify(runs)}; ${seconds} s`,
  );
} finally {
  await harness.close();
  await cluster?.close();
}
