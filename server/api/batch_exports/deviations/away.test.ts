import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { inTurn } from '../../../../test/depth.ts';
import { lookAt, playHours } from '../../../../test/factories/batch_exports/looks.ts';
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

for (const [type, config] of inTurn(Object.entries(away), 4))
  test(`a day in which ${type} does not answer verifies nothing, and says why`, async () => {
    const { harness } = exporting;
    const { deps } = harness;
    const home = await harness.newOrganization();
    const event = (hour: number) => ({ event: 'one', at: `2026-01-01T0${hour}:10:00Z` });
    await exporting.insert(home, [event(0)]);
    const prefix = `away-${randomUUID()}`;
    const files = { type: 'File', config: { prefix } };
    const made = await exporting.scheduled(home, { name: 'away', destination: files });
    const deliver = async (hour: number) => {
      await exporting.insert(home, [event(hour)]);
      await exporting.extend(made.id, hour + 1);
      const runs = await exporting.runAll(made.id);
      return runs.map(({ status }) => status);
    };
    const moveTo = (to: { type: string; config: object }) =>
      deps.db.run(sql`UPDATE batch_exports SET destination_type = ${to.type},
        destination_config = ${JSON.stringify(to.config)}::jsonb WHERE id = ${made.id}`);
    const path = `/api/projects/${home.project.id}/batch_exports/${made.id}/`;
    const shown = async () => (await home.ask('GET', path)).body;
    await exporting.runAll(made.id);
    await lookAt(deps, made.id);
    const before = await shown();
    assert.equal(before.verified_through, '2026-01-01T03:00:00.000000Z');
    // One delivery that no look has seen, and one that does not arrive.
    assert.ok((await deliver(3)).every((status) => status === 'Completed'));
    await moveTo({ type, config });
    assert.ok((await deliver(4)).some((status) => status !== 'Completed'));

    const looks = await playHours(deps, made.id, 24);
    assert.ok(looks >= 20 && looks <= 40, `${looks} looks in a day`);
    const { verified_through, verification } = await shown();
    assert.equal(verified_through, before.verified_through);
    assert.deepEqual(
      [verification.state, verification.cycles, verification.deviations],
      ['standing_still', before.verification.cycles, 0],
    );
    assert.match(verification.reason, /\w.*\./);
    assert.doesNotMatch(verification.reason, /unknown error/i);
    const { text } = await home.ask('GET', `${path}statement/?format=text`);
    assert.ok(text.includes(`Verification has stopped there: ${verification.reason}`), text);
    assert.match(text, /Found as delivered: 1 delivery with 1 row\./);

    await moveTo(files);
    // The config was stored in clear here, against the rules.
    await deps.db.run(sql`UPDATE batch_export_runs SET destination_config = '{}'
      WHERE batch_export_id = ${made.id}`);
    await playHours(deps, made.id, 2);
    const after = await shown();
    assert.deepEqual(
      [after.verified_through, after.verification.state, after.verification.reason],
      ['2026-01-01T04:00:00.000000Z', 'verified', null],
    );
  });
