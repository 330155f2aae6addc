import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { insertRunRow } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { claimRun } from '../workers/claims.ts';
import { destinations } from '../../destinations/index.ts';
import { executeRun } from '../delivery/execute.ts';
import {
  openAroundTests,
  harness,
  engine,
  busy,
  runOf,
  exportOf,
  lookAtAll,
} from '../../../../test/factories/batch_exports/empty_runs.ts';
import type { Run } from '../../../../test/factories/batch_exports/empty_runs.ts';
import { own_keys } from '../../../../test/factories/people/rsa_keys.ts';

openAroundTests();

/**
 * Configs of every destination that lead to nothing that answers, so that a run which turns to it
 * fails.
 */
const nowhere = 'no-such-host.invalid';

const { private_pem: key_file } = own_keys;

const login = { user: 'u', password: 'a-password', host: nowhere, database: 'd' };

const account = {
  client_email: 'exports@example.com',
  private_key: key_file,
  private_key_id: 'key-1234567',
  token_uri: `https://${nowhere}/token`,
};

const unreachable: Record<string, Record<string, unknown>> = {
  AzureBlob: {
    container_name: 'events',
    prefix: 'a',
    account_name: 'account',
    account_key: 'a2V5',
    endpoint_url: `https://${nowhere}/`,
  },
  BigQuery: { project_id: 'a-project', dataset_id: 'd', ...account },
  ClickHouse: { url: `https://${nowhere}:8443`, user: 'u', password: 'a-password', database: 'd' },
  Delta: { storage: 'File', table: 'events' },
  File: { prefix: 'not-a-folder/events' },
  GCS: {
    bucket_name: 'events',
    prefix: 'a',
    service_account_json: JSON.stringify({ type: 'service_account', ...account }),
    endpoint_url: `https://${nowhere}`,
  },
  HTTP: { url: `https://${nowhere}/` },
  Iceberg: { storage: 'File', table: 'events' },
  MySQL: login,
  NoOp: {},
  Postgres: login,
  Redshift: login,
  S3: {
    bucket_name: 'events',
    prefix: 'a',
    region: 'us-east-1',
    aws_access_key_id: 'key',
    aws_secret_access_key: 'a-secret',
    endpoint_url: `https://${nowhere}`,
  },
  Snowflake: {
    account: 'org-account',
    user: 'u',
    password: 'a-password',
    host: nowhere,
    database: 'D',
    warehouse: 'W',
    schema: 'S',
  },
};

test('an interval without rows opens no destination; one with a row does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-nowhere-'));
  await writeFile(join(folder, 'not-a-folder'), '');
  for (const name of ['delta', 'lake']) await writeFile(join(folder, name), '');
  const own = { ...engine, export_dir: folder };
  const work = async (run: string) =>
    executeRun(
      own,
      (await claimRun(harness.deps.db, run, randomUUID()))!,
      new AbortController().signal,
    );
  assert.deepEqual(
    Object.keys(unreachable).toSorted(),
    destinations.map(({ type }) => type).toSorted(),
  );
  const home = await harness.newOrganization();
  const onType = async (type: string): Promise<void> => {
    const destination = { type, config: unreachable[type] };
    const empty = await insertRunRow(harness, await exportOf(home, { destination }));
    await work(empty);
    assert.deepEqual(endOf(await runOf(empty)), ['Completed', 0, null], type);
    const full = await insertRunRow(harness, await exportOf(busy, { destination }));
    await work(full);
    const [, , error_code] = endOf(await runOf(full));
    assert.equal(error_code === null, type === 'NoOp', type);
    await harness.deps.db.run(
      sql`UPDATE batch_export_runs SET status = 'Cancelled' WHERE id = ${full}`,
    );
    await insertRunRow(harness, await exportOf(home, { destination }));
  };
  await Promise.all(destinations.map(({ type }) => onType(type)));
  assert.equal(await lookAtAll(), destinations.length);
  const empty = await harness.deps.db.rows<Run>(
    sql`SELECT * FROM batch_export_runs WHERE team_id = ${home.project.id}`,
  );
  assert.equal(empty.length, 2 * destinations.length);
  assert.deepEqual(
    empty.map(endOf),
    empty.map(() => ['Completed', 0, null]),
  );
  await rm(folder, { recursive: true });
});

const endOf = ({ status, records_completed, error_code }: Run) => [
  status,
  records_completed,
  error_code,
];
