import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { only_deep } from '../../../../test/depth.ts';
import { eventually } from '../../../../test/eventually.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { claimRun } from '../../../engine/exports/workers/claims.ts';
import { executeRun } from '../../../engine/exports/delivery/execute.ts';

let exporting: QueryHarness;
let home: TestOrganization;
before(async () => {
  exporting = await openQueryHarness({
    config: { query_seconds_max: 600, query_memory_mb_max: 1_024 },
  });
  home = await exporting.harness.newOrganization();
  await exporting.harness.deps.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties,
      person_properties, elements_chain, timestamp, created_at, inserted_at)
      SELECT {team_id:Int64}, generateUUIDv4(), toString(number), 'd', generateUUIDv4(), '{}', '',
        '', at, at, at
      FROM (SELECT number, toDateTime64('2026-01-01 00:10:00', 6,
        'UTC') + toIntervalMicrosecond(number) AS at FROM numbers(20000))`,
    query_params: { team_id: home.project.id },
  });
});
after(() => exporting.close());

/** Counts the queries of this file that run; other files ask the same store. */
async function countRunning(): Promise<number> {
  const result = await exporting.harness.deps.clickhouse.rows({
    query:
      "SELECT 1 FROM system.processes WHERE position(query, 'CROSS JOIN') > 0 AND " +
      "position(query, 'system.processes') = 0 AND current_database = currentDatabase()",
  });
  return result.length;
}

const endless = {
  'that is being counted': [
    'SELECT DISTINCT e.event AS event, f.event AS other FROM events e CROSS JOIN events f',
    0,
  ],
  'that gives rows without end': [
    'SELECT e.event AS event, f.event AS other FROM events e CROSS JOIN events f CROSS JOIN ' +
      'events g',
    0,
  ],
  'that was long at work': [
    'SELECT DISTINCT e.event AS event, f.event AS other FROM events e CROSS JOIN events f',
    4_000,
  ],
} as const;

for (const [name, [custom_query, wait_ms]] of Object.entries(endless)) {
  const skip = wait_ms > 0 && only_deep;
  test(`a cancel ends a run and its query ${name}`, { skip }, async () => {
    const prefix = name.replaceAll(' ', '_');
    const created = await exporting.scheduled(home, {
      destination: { type: 'File', config: { prefix } },
      custom_query,
    });
    const [planned] = await exporting.plan(created.id);
    const run = await claimRun(exporting.harness.deps.db, planned!.id, randomUUID());
    const stop = new AbortController();
    const executing = executeRun(exporting.harness.deps.engine, run!, stop.signal);
    let has_ended = false;
    const end = () => (has_ended = true);
    executing.then(end, end);
    await eventually('the query does not run', async () => {
      if (!has_ended) return (await countRunning()) === 1;
      const { body } = await created.get(`runs/${run!.id}/`);
      return assert.fail(`the run ended by itself: ${body.status}, ${body.latest_error}`);
    });
    await pause(wait_ms);
    assert.equal((await created.send('POST', `runs/${run!.id}/cancel/`)).status, 200);
    stop.abort('cancelled');
    await executing;
    await eventually('the query still runs', async () => (await countRunning()) === 0);
    assert.equal((await created.get(`runs/${run!.id}/`)).body.status, 'Cancelled');
    assert.deepEqual(await exporting.filesIn(prefix, ''), []);
  });
}
