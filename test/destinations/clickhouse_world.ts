import http from 'node:http';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { betweenFiles } from '../between_files.ts';
import { openClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import type { ClickHouseProxy } from '../servers/databases/clickhouse_proxy.ts';
import { destinationDeps } from './destination_deps.ts';
import type { Config } from './destination_world.ts';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { identifier } from '../../server/engine/destinations/formats/expression.ts';
import type { ClickHouseConfig } from '../../server/engine/destinations/clickhouse/config.ts';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

let stores: TestStores;

/** A client without the guard and our own code. */
export let client: ClickHouseClient;

/** A proxy of the server with TLS. */
export let secure: ClickHouseProxy;

/** A proxy of the server without TLS. */
export let plain: ClickHouseProxy;

/** A web server other than ClickHouse. */
export let page: http.Server;

let base: ClickHouseConfig;

const databases: string[] = [];

/** A config with its own database. */
export async function freshConfig(): Promise<ClickHouseConfig> {
  const run = new URL(stores.clickhouse_url).pathname.slice(1);
  const database = `Place \`"${databases.length}" ${run}`;
  databases.push(database);
  await client.command({ query: `CREATE DATABASE ${identifier(database)}` });
  return { ...base, database };
}

/** A table of a config, with its database. */
export const inDatabase = (config: Config, table = 'events') =>
  `${identifier(String(config['database']))}.${identifier(table)}`;

/** The rows of a query. */
export async function rows<Row>(
  query: string,
  parameters: Record<string, string> = {},
): Promise<Row[]> {
  return (
    await client.query({ query, query_params: parameters, format: 'JSONEachRow' })
  ).json<Row>();
}

/** Runs a statement. */
export async function run(query: string): Promise<void> {
  await client.command({ query });
}

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    stores = await openTestStores({ clickhouse: true });
    client = createClient({
      url: stores.clickhouse_url,
      log: { level: 127 },
      clickhouse_settings: { date_time_output_format: 'simple' },
    });
    const url = new URL(stores.clickhouse_url);
    secure = await openClickHouseProxy(url.origin, { tls: true });
    plain = await openClickHouseProxy(url.origin, { tls: false });
    page = http
      .createServer((_request, response) => response.end('<html>Welcome</html>'))
      .listen(0, '127.0.0.1');
    base = {
      url: secure.url,
      user: url.username,
      password: decodeURIComponent(url.password),
      has_self_signed_cert: true,
    };
  },
  async () => {
    for (const database of databases)
      await client.command({ query: `DROP DATABASE ${identifier(database)} SYNC` });
    await client.close();
    page.close();
    await secure.close();
    await plain.close();
    await deps.outbound.close();
    await stores.close();
  },
);
