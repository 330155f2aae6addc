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
  // The third round is of persons.
  keys: inDepth(100, 1_000),
  say: () => undefined,
};

async function requirePlayed(store: MergeStore): Promise<void> {
  try {
    const played = await playHistories(store, campaign);
    for (const [name, count] of Object.entries(played)) assert.ok(count > 0, name);
  } finally {
    await store.close();
  }
}

test('PostgreSQL keeps the greatest version of each key', async () => {
  await requirePlayed(await openPostgresStore());
});

test(
  'MariaDB keeps the greatest version of each key',
  { skip: mariaDbMissing ?? false },
  async () => {
    await requirePlayed(await openMySqlStore());
  },
);

test('ClickHouse keeps the greatest version of each key', async () => {
  await requirePlayed(await openClickHouseStore());
});

test('a merge that takes any greater version fails the same histories', async () => {
  await assert.rejects(
    async () => requirePlayed(await openPostgresStore({ naive: true })),
    /naive, seed 2026, round 0, table 1: the row of/,
  );
});
