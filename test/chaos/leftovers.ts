import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { request } from 'undici';
import { openBucket } from '../../server/engine/destinations/object_store/s3_bucket.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { Deployment } from './deployment.ts';

/** By kind, the names of objects at the destinations that belong to no completed delivery. */
export type Leftovers = Record<string, string[]>;

const wait_ms_max = 15_000;
const pause_ms = 500;

/** Lists the leftovers of ended runs. Leftovers that are about to be removed get 15 seconds. */
export async function findLeftovers(deployment: Deployment): Promise<Leftovers> {
  const deadline = performance.now() + wait_ms_max;
  for (;;) {
    const left = {
      ...findFiles(deployment),
      ...(await findObjects(deployment)),
      ...(await findTables(deployment)),
      ...(await findQueries(deployment)),
    };
    if (Object.values(left).every((names) => names.length === 0) || performance.now() > deadline)
      return left;
    await pause(pause_ms);
  }
}

/** The files that a receipt names. */
const namedBy = (receipt: string): string[] =>
  (JSON.parse(receipt) as { slices: { name: string }[] }).slices.map(({ name }) => name);
const isReceipt = (name: string) => /_manifest\.json$|\/_sluice\//.test(name);

function findFiles({ export_dir }: Deployment): Leftovers {
  const folder = join(export_dir, 'campaign');
  const names = existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .map((name) => `campaign/${name}`)
        .filter((name) => !name.endsWith('/_sluice'))
    : [];
  const named = new Set(
    names
      .filter(isReceipt)
      .flatMap((name) => namedBy(readFileSync(join(export_dir, name), 'utf8'))),
  );
  const isHidden = (name: string) => name.startsWith('campaign/.');
  return {
    'temporary files': names.filter(isHidden),
    'files without a delivery': names.filter(
      (name) => !isHidden(name) && !isReceipt(name) && !named.has(name),
    ),
  };
}

async function findObjects({ s3_config }: Deployment): Promise<Leftovers> {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  try {
    const bucket = openBucket(s3_config, outbound, new AbortController().signal);
    const keys = await Array.fromAsync(bucket.list('', { direct: false }));
    const named = new Set<string>();
    for (const key of keys.filter(isReceipt)) {
      const content = Buffer.concat(await (await bucket.read(key))!.toArray());
      for (const name of namedBy(content.toString())) named.add(name);
    }
    const answer = await request(`${s3_config.endpoint_url}/${s3_config.bucket_name}?uploads`);
    const uploads = [...(await answer.body.text()).matchAll(/<Upload><Key>([^<]*)<\/Key>/g)].map(
      ([, key]) => key!,
    );
    return {
      'unfinished uploads': uploads,
      'objects without a delivery': keys.filter((key) => !isReceipt(key) && !named.has(key)),
    };
  } finally {
    await outbound.close();
  }
}

async function findTables({ warehouse }: Deployment): Promise<Leftovers> {
  const tables = await warehouse.rows<{ name: string }>(
    sql`SELECT oid::regclass::text AS name FROM pg_class WHERE relname LIKE 'sluice_stage%'
      AND relkind = 'r'`,
  );
  const transactions = await warehouse.rows<{ query: string }>(sql`
    SELECT left(query, 80) AS query FROM pg_stat_activity WHERE datname = current_database()
      AND xact_start IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()`);
  return {
    'stage tables': tables.map(({ name }) => name),
    'open transactions at the destination': transactions.map(({ query }) => query),
  };
}

async function findQueries({ clickhouse }: Deployment): Promise<Leftovers> {
  const answer = await clickhouse.rows<{ query: string }>({
    query:
      'SELECT substring(query, 1, 80) AS query FROM system.processes WHERE elapsed > 5 AND ' +
      "query NOT LIKE '%system.processes%'",
  });
  return { 'queries of dead workers': answer.map(({ query }) => query) };
}
