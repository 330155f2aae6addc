import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openTestStores } from '../../../../test/harness_stores.ts';
import { openDatabase } from '../../postgres/database.ts';
import { migratePostgres } from '../../postgres/migrate.ts';
import { openInsertPace } from './insert_pace.ts';

test('inserts of all processes take turns; an idle one waits for nobody', async (context) => {
  const stores = await openTestStores({ clickhouse: false });
  context.after(() => stores.close());
  const processes = [1, 2].map(() =>
    openDatabase(stores.database_url, { connections_max: 2, application_name: 'test' }),
  );
  context.after(() => Promise.all(processes.map((db) => db.close())));
  await migratePostgres(processes[0]!, join(import.meta.dirname, '../../../../migrations'));
  let waited = 0;
  const paces = processes.map((db) => openInsertPace(db, 100, (seconds) => (waited += seconds)));
  for (const pace of paces) {
    await pace();
    assert.equal(waited, 0, 'nobody was before it');
    await processes[0]!.run(sql`UPDATE insert_pace SET free_at = clock_timestamp()`);
  }
  const passed: number[] = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      await paces[index % 2]!();
      passed.push(performance.now() - began);
    }),
  );
  // Twelve turns of 10 ms are eleven from the first to the last; a timer may be early.
  assert.ok(passed.at(-1)! >= 105, passed.join());
  assert.ok(waited > 0, String(waited));
  // A crash, and a standby that is promoted, leave an empty table.
  await processes[0]!.run(sql`TRUNCATE insert_pace`);
  await paces[1]!();
});
