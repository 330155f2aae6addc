import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderAroundTests } from '../../../../../test/around_tests.ts';
import { destinationDeps } from '../../../../../test/destinations/destination_deps.ts';
import { file_place } from '../../file/file.ts';
import { emptyState } from './actions.ts';
import type { Action } from './actions.ts';
import { keepLog } from './keep_log.ts';
import { addEntry, loadTable, refresh } from './log.ts';
import { openWorld } from './world.ts';

const root = folderAroundTests();
const hour_ms = 3_600_000;

/** A table with an entry an hour, each of which adds a file, kept as the sink keeps it. */
async function tableOf(entries: number, configuration: Record<string, string>) {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const deps = { ...destinationDeps(), export_dir: root, clock: { now: () => now } };
  const config = { storage: 'File', table: `t${randomUUID().replaceAll('-', '')}` };
  const world = await openWorld(file_place, config, 7, deps);
  const state = emptyState();
  for (let version = 0; version < entries; version += 1, now += hour_ms) {
    const created: Action[] = [
      { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
      {
        metaData: {
          id: randomUUID(),
          format: { provider: 'parquet', options: {} },
          schemaString: '{"type":"struct","fields":[]}',
          partitionColumns: [],
          configuration,
        },
      },
    ];
    const add = {
      path: `${version}.parquet`,
      partitionValues: {},
      size: 1,
      modificationTime: now,
      dataChange: true,
    };
    const actions = [
      { commitInfo: { timestamp: now } },
      ...(version === 0 ? created : []),
      { add },
    ];
    assert.equal(await addEntry(world.log, state, actions), true);
    await keepLog(world, state);
  }
  const folder = join(root, world.log.folder);
  return { world, folder, names: async () => (await readdir(folder)).toSorted() };
}

test('the log has a checkpoint after every ten entries, by which it is read', async () => {
  const { world, folder, names } = await tableOf(25, {});
  const found = await names();
  assert.deepEqual(
    found.filter((name) => !name.endsWith('.json')),
    [
      '00000000000000000010.checkpoint.parquet',
      '00000000000000000020.checkpoint.parquet',
      '_last_checkpoint',
    ],
  );
  assert.equal(found.length, 28);
  const whole = await loadTable(world.log);
  assert.deepEqual([whole.version, whole.adds.size], [24, 25]);
  // Entries below the checkpoint are not needed, nor is the file that names it.
  for (const name of found.filter((one) => one < '00000000000000000020' && one.endsWith('.json')))
    await rm(join(folder, name));
  await rm(join(folder, '_last_checkpoint'));
  const state = await loadTable(world.log);
  assert.deepEqual([...state.adds.keys()].toSorted(), [...whole.adds.keys()].toSorted());
  assert.equal(state.version, 24);
  await refresh(world.log, state);
  assert.equal(state.version, 24);
});

test('entries below a checkpoint go once they are old enough, and no file is lost', async () => {
  const properties = {
    'delta.logRetentionDuration': 'interval 12 hours',
    'delta.checkpointInterval': '5',
  };
  const { world, names } = await tableOf(41, properties);
  // The newest checkpoint from before 28:00 is that of version 25.
  const found = (await names()).filter((name) => name !== '_last_checkpoint');
  assert.equal(found[0], '00000000000000000025.checkpoint.parquet');
  assert.equal(found.length, 4 + 16);
  const state = await loadTable(world.log);
  assert.deepEqual([state.version, state.adds.size], [40, 41]);
});

test('a table may keep its whole log', async () => {
  const { names } = await tableOf(21, {
    'delta.logRetentionDuration': 'interval 1 hour',
    'delta.enableExpiredLogCleanup': 'false',
  });
  assert.equal((await names())[0], '00000000000000000000.json');
});
