import { join } from 'node:path';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openRandom } from '../chaos/random.ts';
import { fillEvents } from '../factories/events/fill_events.ts';
import { serverEnvironment, startServer } from '../processes/server_process.ts';
import { runSluice } from '../processes/sluice_process.ts';
import type { Campaign } from './campaign.ts';
import { openStandIn } from './cluster.ts';
import { no_trouble } from './settings.ts';
import type { Weakness } from './settings.ts';

/** A day. */
const events = 1_000;
const day_ms = 86_400_000;
/** Ten days of one month. */
const range = { from: Date.parse('2026-03-02T00:00:00Z'), days: 10 };
/** Most attempts, because every second day is lost each time. */
const tries_max = 12;

/**
 * Moves a store of one node to a cluster by `sluice migrate-store`, and repeats the command until
 * it reports that both have the same rows. Returns which rows replicas lack or have in addition;
 * nothing if they are equal.
 */
export async function moveToCluster(campaign: Campaign): Promise<string> {
  const { folder, mode, seed, say, weaknesses: given = [] } = campaign;
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const postgres = await openEmbeddedPostgres({
      folder: join(folder, 'postgres'),
      log: silentLog(),
    });
    closing.push(() => postgres.stop());
    const source = await openEmbeddedClickHouse({ folder: join(folder, 'one'), log: silentLog() });
    closing.push(() => source.stop());
    const environment = serverEnvironment(folder, createApiKey(), {
      SLUICE_DATABASE_URL: postgres.url,
      SLUICE_CLICKHOUSE_URL: source.url,
      SLUICE_SECRET_KEY: 'a secret that only this campaign has',
    });
    // The first start creates the tables.
    await (await startServer(['api'], environment)).stop();
    await fill(source.url);
    const one = createClient({ url: source.url });
    closing.push(() => one.close());
    const cluster = await openStandIn({
      folder: join(folder, 'cluster'),
      mode,
      trouble: { ...no_trouble, fetch_ms_max: 300 },
      weaknesses: new Set<Weakness>(given),
      random: openRandom(seed, 4),
      told_by: async (query, settings) => {
        const asked = settings.filter(
          ([name]) => !/^(database|default_format|param_.*)$/.test(name),
        );
        const clickhouse_settings = Object.fromEntries(asked);
        const { stream } = await one.exec({ query, clickhouse_settings });
        return Buffer.concat((await stream.toArray()) as Buffer[]).toString();
      },
    });
    closing.push(() => cluster.close());
    const more = mode === 'on_cluster' ? ['--to-cluster', cluster.cluster.settings.cluster] : [];
    const words = ['migrate-store', '--to', cluster.urls, ...more];
    for (let tries = 1; ; tries += 1) {
      const { code, out, err } = await runSluice(words, environment);
      say(`move ${tries}: ${out.trim().split('\n').at(-1) ?? ''}`);
      if (code === 0) break;
      if (tries === tries_max || !/was copied \d+ times/.test(out + err))
        throw new Error(`${code}: ${out}${err}`);
    }
    await cluster.settled();
    return await differences(
      one,
      cluster.replicas.map(({ index }) => cluster.url(index)),
    );
  } finally {
    for (const step of closing.toReversed()) await step();
  }
}

async function fill(url: string): Promise<void> {
  const clickhouse = openClickHouse(url, { application: 'campaign' });
  try {
    for (let day = 0; day < range.days; day += 1) {
      const from = range.from + day * day_ms;
      await fillEvents(clickhouse, { team_id: 1, events, from, to: from + day_ms });
    }
  } finally {
    await clickhouse.close();
  }
}

async function differences(one: ClickHouseClient, urls: string[]): Promise<string> {
  const counted = async (client: ClickHouseClient) => {
    const answer = await client.query({
      query: 'SELECT count() AS rows, uniqExact(uuid) AS uuids FROM events',
      format: 'JSONEachRow',
    });
    const [row] = await answer.json<{ rows: string; uuids: string }>();
    return { rows: Number(row!.rows), uuids: Number(row!.uuids) };
  };
  const wanted = await counted(one);
  let [lost, doubled] = [0, 0];
  for (const url of urls) {
    const client = createClient({ url });
    const { rows, uuids } = await counted(client).finally(() => client.close());
    lost += wanted.uuids - uuids;
    doubled += rows - uuids;
  }
  return [
    lost === 0 ? [] : [`events lost: ${lost}`],
    doubled === 0 ? [] : [`events doubled: ${doubled}`],
  ]
    .flat()
    .join(', ');
}
