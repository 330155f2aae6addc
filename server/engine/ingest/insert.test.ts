import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import { insertBatch, letGo, nobody } from './insert.ts';

// Uses its own database, whose tables deduplicate by the tokens of batches, like replicas.
const harness = aroundTests(() => openHarness({ clickhouse: true }));

test('a batch that was let go leaves no row later, and a stored one stays', async () => {
  const { clickhouse: one_node } = harness.deps;
  const clickhouse = { ...one_node, mode: { kind: 'cloud' } as const };
  for (const table of ['events', 'persons'])
    await one_node.command({
      query: `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = 100`,
    });
  const inserted_at = '2026-01-01 00:00:00.000000';
  const batchOf = (team_id: number) => ({
    table: 'persons' as const,
    batch_id: randomUUID(),
    team_id,
    inserted_at,
    rows: [{ team_id, distinct_id: 'd', person_id: randomUUID() }],
    stamp: { inserted_at },
    ends_at: performance.now() + 20_000,
  });
  const [abandoned, stored] = [batchOf(7), batchOf(8)];
  assert.equal((await insertBatch<object>(clickhouse, stored)).outcome, 'stored');
  for (const batch of [abandoned, stored])
    assert.equal(await letGo(clickhouse, batch, ['persons', 'events']), true);
  await insertBatch<object>(clickhouse, abandoned);
  const rowsOf = (table: string) =>
    one_node.rows<{ team_id: string; rows: string }>({
      query: `SELECT toString(team_id) AS team_id, toString(count()) AS rows FROM ${table}
        GROUP BY team_id ORDER BY team_id`,
    });
  assert.deepEqual(await rowsOf('persons'), [
    { team_id: String(nobody), rows: '1' },
    { team_id: '8', rows: '1' },
  ]);
  assert.deepEqual(await rowsOf('events'), [{ team_id: String(nobody), rows: '2' }]);
});
