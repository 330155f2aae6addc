import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../depth.ts';
import { mariaDbMissing } from '../servers/databases/mariadb_server.ts';
import { playHistories } from './campaign.ts';
import { openClickHouseStore, openMySqlStore, openPostgresStore } from './stores.ts';
import type { MergeStore } from './stores.ts';

const campaign = {
  seed: 2026,
  histories: inDepth(300, 30_000),
  keys: inDepth(150, 1_000),
  say: () => undefined,
};

async function played(store: MergeStore): Promise<number> {
  try {
    return await playHistories(store, campaign);
  } finally {
    await store.close();
  }
}

test('PostgreSQL keeps the greatest version of each key', async () => {
  assert.ok((await played(await openPostgresStore())) > campaign.histories);
});

test(
  'MariaDB keeps the greatest version of each key',
  { skip: mariaDbMissing ?? false },
  async () => {
    assert.ok((await played(await openMySqlStore())) > campaign.histories);
  },
);

test('ClickHouse keeps the greatest version of each key', async () => {
  assert.ok((await played(await openClickHouseStore())) > campaign.histories);
});

test('a merge that takes any greater version fails the same histories', async () => {
  await assert.rejects(
    async () => played(await openPostgresStore({ naive: true })),
    /naive, seed 2026, round 0, table 1: the row of/,
  );
});
