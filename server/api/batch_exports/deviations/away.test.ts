import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { lookAt } from '../../../../test/factories/batch_exports/looks.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { own_keys } from '../../../../test/factories/people/rsa_keys.ts';
import { destinations } from '../../../engine/destinations/index.ts';

const exporting = aroundTests(openQueryHarness);

// Fetch refuses port 1 before it asks.
const port = 8;
const nobody = `127.0.0.1:${port}`;
const s3 = {
  bucket_name: 'away',
  region: 'us-east-1',
  prefix: 'a',
  endpoint_url: `http://${nobody}`,
  aws_access_key_id: 'key',
  aws_secret_access_key: 'secret',
};
const server = { host: '127.0.0.1', port, user: 'away', password: 'away', database: 'away' };
const private_key = own_keys.private_pem;
const google = { client_email: 'away@example.com', private_key };

/** Each destination at an address where nothing answers. */
const away: Record<string, Record<string, unknown>> = {
  S3: s3,
  AzureBlob: {
    account_name: 'away',
    account_key: 'YXdheQ==',
    container_name: 'away',
    prefix: 'a',
    endpoint_url: `http://${nobody}/away`,
  },
  GCS: {
    bucket_name: 'away',
    prefix: 'a',
    endpoint_url: `http://${nobody}`,
    service_account_json: JSON.stringify({ type: 'service_account', ...google }),
  },
  Iceberg: { ...s3, storage: 'S3', table: 'away' },
  Delta: { ...s3, storage: 'S3', table: 'away' },
  Postgres: { ...server, schema: 'public', table_name: 'events' },
  Redshift: { ...server, schema: 'public', table_name: 'events', properties_data_type: 'super' },
  Snowflake: {
    account: 'away',
    host: nobody,
    user: 'away',
    password: 'away',
    authentication_type: 'password',
    warehouse: 'away',
    database: 'away',
    schema: 'away',
  },
  BigQuery: {
    ...google,
    project_id: 'away',
    dataset_id: 'away',
    private_key_id: 'away',
    token_uri: `https://${nobody}/token`,
  },
  ClickHouse: { url: `https://${nobody}`, user: 'away', password: 'away', database: 'away' },
  MySQL: { ...server, table_name: 'events', require_tls: false },
};

/** Destinations without an address, or that keep nothing. */
const without_address = new Set(['File', 'HTTP', 'NoOp']);

test('there is an address without an answer for each destination', () => {
  assert.deepEqual(
    destinations.map(({ type }) => type).filter((type) => !without_address.has(type)),
    Object.keys(away),
  );
});

for (const [type, config] of Object.entries(away))
  test(`verified_through stands still and says why: ${type} does not answer`, async () => {
    const { deps } = exporting.harness;
    const home = await exporting.harness.newOrganization();
    await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z', properties: {} }]);
    const prefix = `away-${randomUUID()}`;
    const destination = { type: 'File', config: { prefix } };
    const made = await exporting.scheduled(home, { name: 'away', destination });
    await exporting.runAll(made.id);
    await lookAt(deps, made.id);
    const watch = async () =>
      (await deps.db.row<Record<string, unknown>>(sql`
        SELECT verified_through, reason, failures, cycles FROM batch_export_watches
        WHERE batch_export_id = ${made.id}`))!;
    const before = await watch();
    assert.notEqual(before['verified_through'], null);
    await deps.db.run(sql`UPDATE batch_exports SET destination_type = ${type},
      destination_config = ${JSON.stringify(config)}::jsonb WHERE id = ${made.id}`);
    for (const failures of [1, 2]) {
      await lookAt(deps, made.id);
      const now = await watch();
      assert.deepEqual([now['failures'], now['cycles']], [failures, before['cycles']]);
      assert.equal(now['verified_through'], before['verified_through']);
      assert.match(String(now['reason']), /\w.*\./);
      assert.doesNotMatch(String(now['reason']), /unknown error/i);
    }
    const open = await deps.db.rows(sql`SELECT 1 FROM batch_export_deviations
      WHERE batch_export_id = ${made.id}`);
    assert.equal(open.length, 0, 'a destination that is away is no finding');
  });
