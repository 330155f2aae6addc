import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTestStores } from '../../test/harness_stores.ts';
import { readConfig } from '../config/config.ts';
import { silentLog } from '../platform/log.ts';
import { serve } from './serve.ts';
import { aroundTests, folderAroundTests } from '../../test/around_tests.ts';
import { startServer } from '../../test/processes/server_process.ts';
import { leastEnvironment } from '../../test/processes/sluice_process.ts';

const stores = aroundTests(() => openTestStores({ clickhouse: true }));
const folder = folderAroundTests();

test('on a free port every link has the port that the server got', async () => {
  const { database_url, clickhouse_url } = stores;
  const config = readConfig({
    SLUICE_DATABASE_URL: database_url,
    SLUICE_CLICKHOUSE_URL: clickhouse_url,
    SLUICE_SECRET_KEY: 'the secret key of a server on a free port',
    SLUICE_DATA_DIR: join(folder, 'data'),
    SLUICE_EXPORT_DIR: join(folder, 'exports'),
    SLUICE_PORT: '0',
  });
  const given = { clickhouse_memory_bytes: undefined, lost: new Promise<void>(() => {}) };
  const lines: string[] = [];
  const server = await serve(
    config,
    silentLog(),
    { database_url, clickhouse_url, ...given, close: async () => {} },
    { api: true, worker: false },
    (line) => lines.push(line),
  );
  try {
    assert.match(server.address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const link = lines.find((line) => line.includes('/login/link?token='))?.trim() ?? '';
    assert.ok(link.startsWith(`${server.address}/login/`), link);
    assert.equal(server.opened.deps.config.public_url, server.address);
  } finally {
    await server.stop();
  }
});

// Deployments start the API and its workers apart; with a path the same word asks a route.
test('`sluice api` without a path starts the API alone', async () => {
  const server = await startServer(['api'], {
    ...leastEnvironment(),
    SLUICE_DATABASE_URL: stores.database_url,
    SLUICE_CLICKHOUSE_URL: stores.clickhouse_url,
    SLUICE_SECRET_KEY: 'the secret key of a server on a free port',
    SLUICE_DATA_DIR: join(folder, 'data'),
    SLUICE_EXPORT_DIR: join(folder, 'exports'),
    SLUICE_PORT: '0',
  });
  try {
    assert.equal((await fetch(`${server.address}/readyz`)).status, 200);
  } finally {
    await server.stop();
  }
});
