import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  event,
  harness,
  newTeam,
  open,
  openAroundTests,
} from '../../../test/factories/events/ingestions.ts';
import { settled, settledAtOnce } from './lock.ts';

openAroundTests();

const promises_wanted = 8;
/** Two processes that write events of a project, each as fast as it can. */
const writers = 2;

async function countBelow(teamId: number, at: string): Promise<number> {
  const [row] = await harness.deps.clickhouse.rows<{ rows: string | number }>({
    query: `SELECT count() AS rows FROM events WHERE team_id = {team_id:Int64}
      AND inserted_at < parseDateTime64BestEffort({at:String}, 6, 'UTC')`,
    query_params: { team_id: teamId, at },
  });
  return Number(row!.rows);
}

test('no row appears below a promise, also without a pause behind it', async () => {
  const teamId = await newTeam();
  let is_over = false;
  const write = async () => {
    const ingestion = open();
    let stored = 0;
    while (!is_over) {
      await (
        await ingestion.add(teamId, [event(), event()])
      ).stored;
      stored += 2;
    }
    return stored;
  };
  const writing = Array.from({ length: writers }, write);
  const promised: { at: string; rows: number }[] = [];
  while (promised.length < promises_wanted) {
    const { db } = harness.deps;
    // As a planner does: at once where no batch is in progress, else behind the one that is.
    const at = await db.transaction(
      async (tx) => (await settledAtOnce(tx, [teamId])).get(teamId) ?? settled(tx, teamId),
    );
    promised.push({ at, rows: await countBelow(teamId, at) });
  }
  is_over = true;
  const stored = (await Promise.all(writing)).reduce((sum, count) => sum + count, 0);
  const later: typeof promised = [];
  for (const { at } of promised) later.push({ at, rows: await countBelow(teamId, at) });
  assert.deepEqual(later, promised);
  assert.ok(stored > 0 && new Set(promised.map(({ rows }) => rows)).size > 3, `${stored}`);
});
