import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { FolderUnusableError, lockDataFolder } from '../../platform/folders/data_folder.ts';
import { silentLog } from '../../platform/log.ts';
import { UserError } from '../user_error.ts';
import { NoStoreError, joinStores, openStores, refuseForeign } from './stores.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

test('the PostgreSQL of another user is refused, with whose it is', () => {
  const uid = process.getuid!();
  refuseForeign(folder);
  refuseForeign(join(folder, 'none yet'), uid + 1);
  assert.throws(
    () => refuseForeign(folder, uid + 1),
    (error: Error) =>
      error instanceof UserError && error.message.includes(`belongs to the user ${uid}, `),
  );
  const loop = join(folder, 'loop');
  symlinkSync(loop, loop);
  assert.throws(() => refuseForeign(join(loop, 'postgres')), FolderUnusableError);
});

test('a folder that this user may not read is named, and not called empty', async () => {
  const data = join(folder, 'of_another_user');
  mkdirSync(data);
  chmodSync(data, 0);
  const isRoot = process.geteuid!() === 0;
  // Root may read every folder.
  if (isRoot) process.seteuid!(65_534);
  try {
    const config = readConfig({ SLUICE_DATA_DIR: data });
    await assert.rejects(joinStores(config, silentLog(), { start: 'existing' }), {
      name: 'UserError',
      message: /^This user may not read the data folder/,
    });
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(data, 0o700);
  }
});

test('stores that cannot be announced are stopped again, and the folder is free', async () => {
  const config = readConfig({
    SLUICE_DATA_DIR: folder,
    SLUICE_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  });
  // As on a full disk the file cannot be written.
  const keepFromTelling = () =>
    symlinkSync(join(folder, 'missing', 'file'), join(folder, 'running.json'));
  keepFromTelling();
  // A folder whose PostgreSQL is one of their own has data once ClickHouse was started in it.
  const joinIt = () => joinStores(config, silentLog(), { start: 'existing' });
  await assert.rejects(joinIt(), NoStoreError);
  await assert.rejects(openStores(config, silentLog()), { code: 'ENOENT' });
  // A worker, which starts no stores of its own.
  await assert.rejects(
    joinStores(config, silentLog(), { start: 'never' }),
    /^NoS\w+: No server is running/,
  );
  lockDataFolder(folder)();
  keepFromTelling();
  await assert.rejects(joinIt(), { code: 'ENOENT' });
  lockDataFolder(folder)();
});

test('a command finds a server that starts, and waits for one that stops', async () => {
  const config = readConfig({ SLUICE_DATA_DIR: join(folder, 'starting') });
  const unlock = lockDataFolder(config.data_dir);
  const join_it = () => joinStores(config, silentLog(), { start: 'existing' });
  const joining = join_it();
  const running = {
    pid: process.pid,
    database_url: 'postgres:///here',
    clickhouse_url: 'http://c',
  };
  setTimeout(
    () => writeFileSync(join(config.data_dir, 'running.json'), JSON.stringify(running)),
    20,
  );
  const stores = await joining;
  assert.equal(stores.database_url, running.database_url);
  await stores.close();
  rmSync(join(config.data_dir, 'running.json'));
  setTimeout(unlock, 20);
  await assert.rejects(join_it(), /has no Sluice data/);
});
