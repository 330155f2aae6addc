import { randomUUID } from 'node:crypto';
import { insertBatch } from '../../server/engine/ingest/insert.ts';
import { storeInstant } from '../../server/engine/ingest/parse/instant.ts';
import { settleBatch } from '../../server/engine/ingest/settle_batch.ts';
import { probe } from '../../server/engine/exports/runs/count_windows.ts';
import { selectionCondition } from '../../server/engine/model/models/selection.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { caughtUp } from '../../server/platform/clickhouse/topology/caught_up.ts';
import type { SourceEvent } from '../chaos/compare.ts';
import type { Source } from './world.ts';

const batch_ms = 10_000;

/**
 * The source of histories in a store with replicas, with the server's own inserts, look for empty
 * runs, and reads of one replica that has caught up. What the store refuses for now is done again.
 */
export function openClusterSource(clickhouse: ClickHouse): Source {
  return {
    add: async (team_id, events) => {
      while (!(await add(clickhouse, team_id, events)));
    },
    select: (team_id, area) =>
      untilAnswered(() =>
        caughtUp(clickhouse, ['events'], async () => {
          const condition = selectionCondition(area, {
            event: 'timestamp',
            inserted: 'inserted_at',
          });
          const answer = await clickhouse.rows<{ uuid: string }>({
            query: `SELECT toString(uuid) AS uuid FROM events
              WHERE team_id = {team_id:Int64} AND (${condition})`,
            query_params: { team_id },
          });
          return answer.map(({ uuid }) => uuid);
        }),
      ),
    look: (runs) => untilAnswered(() => probe(clickhouse, runs)),
  };
}

/** Inserts a batch as ingestion does; false where it is known not to be there. */
async function add(
  clickhouse: ClickHouse,
  team_id: number,
  events: SourceEvent[],
): Promise<boolean> {
  const [batch_id, at] = [randomUUID(), events[0]!.inserted_at];
  const inserted_at = storeInstant(at);
  const { outcome } = await insertBatch(clickhouse, {
    table: 'events',
    batch_id,
    team_id,
    inserted_at,
    rows: events.map(({ uuid, instant }) => ({
      team_id,
      uuid,
      event: 'history',
      distinct_id: 'somebody',
      timestamp: storeInstant(instant),
      written: undefined,
    })),
    stamp: { inserted_at, created_at: inserted_at },
    ends_at: performance.now() + batch_ms,
  });
  if (outcome !== 'unknown') return outcome === 'stored';
  const left = { batch_id, last_inserted_at: new Date(at).toISOString() };
  while (!(await settleBatch(clickhouse, team_id, left).catch(() => false)));
  const found = await untilAnswered(() =>
    caughtUp(clickhouse, ['events'], async () => {
      const answer = await clickhouse.rows<{ rows: string }>({
        query: 'SELECT count() AS rows FROM events WHERE uuid IN {uuids:Array(UUID)}',
        query_params: { uuids: events.map(({ uuid }) => uuid) },
      });
      return Number(answer[0]?.rows);
    }),
  );
  return found > 0;
}

/** What the store does not answer is asked again. */
async function untilAnswered<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      return await ask();
    } catch (error) {
      if (tries === 100) throw error;
    }
}
