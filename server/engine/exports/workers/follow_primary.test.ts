import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { findPrimary } from '../../../platform/postgres/control_store.ts';
import { openDatabase } from '../../../platform/postgres/database.ts';
import { followPrimary } from './follow_primary.ts';
import { beat } from './heartbeat.ts';

// Its own, for all exports of a server are set aside at once.
const harness = aroundTests(() => openHarness({ clickhouse: false }));

test('a standby that lacks confirmed commits is recorded, and exports wait', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  // Makes a primary say how far it got as a standby, which only a promoted one knows.
  await harness.deps.db.text(`CREATE FUNCTION public.pg_last_wal_replay_lsn() RETURNS pg_lsn
    LANGUAGE sql AS $$ SELECT '0/100'::pg_lsn $$;
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog',
      current_database()); END $$`);
  const options = { connections_max: 2, application_name: 'sluice-test' };
  const db = openDatabase(harness.stores.database_url, options);
  try {
    const follow = followPrimary({ ...harness.deps.engine, db });
    const now = await beat(db, randomUUID());
    await follow({ epoch: now.epoch - 1, position: '0/180' });
    const waiting = () => db.rows(sql`SELECT batch_export_id AS id FROM reconciliations`);
    assert.deepEqual(await waiting(), []);
    await follow(now);
    assert.deepEqual(await waiting(), [{ id }]);
    assert.equal((await findPrimary(db))?.lost_bytes, 128);
  } finally {
    await db.close();
  }
});
