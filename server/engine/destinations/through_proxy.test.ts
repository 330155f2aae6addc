import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contractColumns } from '../../../test/factories/batch_exports/contract_rows.ts';
import { destinationDeps } from '../../../test/destinations/destination_deps.ts';
import { own_keys } from '../../../test/factories/people/rsa_keys.ts';
import { startConnectProxy } from '../../../test/servers/connect_proxy.ts';
import type { ConnectProxy } from '../../../test/servers/connect_proxy.ts';
import { openOutbound } from '../../platform/outbound/outbound.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import { destinations } from './index.ts';

const address = '93.184.216.34';
const account = {
  client_email: 'exports@example.com',
  private_key: own_keys.private_pem,
  private_key_id: 'key-1234567',
  token_uri: `https://${address}/token`,
};

/** A config of each destination over HTTP, at a public address. */
const over_http: Record<string, Record<string, unknown>> = {
  AzureBlob: {
    container_name: 'events',
    prefix: 'a',
    account_name: 'account',
    account_key: 'a2V5',
    endpoint_url: `https://${address}/`,
  },
  BigQuery: { project_id: 'a-project', dataset_id: 'd', ...account },
  ClickHouse: { url: `https://${address}`, user: 'u', password: 'a-password', database: 'd' },
  GCS: {
    bucket_name: 'events',
    prefix: 'a',
    service_account_json: JSON.stringify({ type: 'service_account', ...account }),
    endpoint_url: `https://${address}`,
  },
  HTTP: { url: `https://${address}/` },
  Iceberg: {
    storage: 'File',
    table: 'events',
    catalog: 'rest',
    catalog_uri: `https://${address}`,
    catalog_token: 'a-token',
  },
  S3: {
    bucket_name: 'events',
    prefix: 'a',
    region: 'us-east-1',
    aws_access_key_id: 'key',
    aws_secret_access_key: 'a-secret',
    endpoint_url: `https://${address}`,
  },
  Snowflake: {
    account: 'org-account',
    user: 'u',
    password: 'a-password',
    host: address,
    database: 'D',
    warehouse: 'W',
    schema: 'S',
  },
};
/** `Delta` writes its files as `File` and the object stores do. */
const other_ways = ['Delta', 'File', 'MySQL', 'NoOp', 'Postgres', 'Redshift'];

let proxy: ConnectProxy;
let outbound: Outbound;

before(async () => {
  proxy = await startConnectProxy();
  const https = `http://user:a-secret-one@127.0.0.1:${proxy.port}`;
  outbound = openOutbound({
    allow: [],
    proxies: { https, without: [], connect_by: 'address' },
    // Google's hosts, which no config names.
    resolve: async () => [{ address, family: 4 }],
  });
});

after(async () => {
  await outbound.close();
  await proxy.close();
});

test('every destination that speaks HTTP goes through the proxy, and tells its fault', async () => {
  assert.deepEqual(
    [...Object.keys(over_http), ...other_ways].toSorted(),
    destinations.map(({ type }) => type).toSorted(),
  );
  for (const instead of [403, 407] as const)
    for (const { type, check } of destinations) {
      const config = over_http[type];
      if (config === undefined) continue;
      proxy.instead = instead;
      proxy.asked = [];
      const steps = await check(config, contractColumns, destinationDeps(outbound));
      const { detail } = steps.find(({ status }) => status === 'failed')!;
      const expected =
        instead === 403
          ? /^The proxy of this server's outgoing connections does not let/
          : /^The proxy of this server's outgoing connections refused its user or password/;
      assert.match(detail, expected, type);
      assert.doesNotMatch(detail, /a-secret-one/);
      assert.ok(proxy.asked.length > 0, type);
      assert.deepEqual([...new Set(proxy.asked.map(({ target }) => target))], [`${address}:443`]);
    }
});
