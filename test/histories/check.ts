import assert from 'node:assert/strict';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { advanceBackfills } from '../../server/engine/exports/runs/advance_backfills.ts';
import { databaseInstant } from '../../server/platform/postgres/instant.ts';
import { compareRows } from '../chaos/compare.ts';
import type { Comparison, Expectation } from '../chaos/compare.ts';
import type { Harness } from '../harness.ts';
import { ended, goOn, post, schedule, step, take } from './steps.ts';
import type { Step } from './steps.ts';
import { openWorld, workAll } from './world.ts';
import type { Source, World } from './world.ts';

const rounds_max = 60;
/** Milliseconds before and after now between which all events lie. */
const reach = { before: 19_000_000, after: 700_000 };

/**
 * Plays random histories and checks each to the row: while things go wrong nothing is doubled; when
 * the dust has settled the schedule has delivered what was inserted since the export was created,
 * unless it was told to leave something out; and after a backfill of what is missing the
 * destination is the source. Throws with the seed and the shortest history that fails. Gives how
 * many runs ended how. The rows of the source are in memory, or in `source`; `each` gives other
 * steps.
 */
export async function checkHistories(
  harness: Harness,
  histories: number,
  { seed, source, each = step }: { seed?: number; source?: Source; each?: typeof step } = {},
): Promise<Record<string, number>> {
  const one_home = await harness.newOrganization();
  const counts: Record<string, number> = {};
  await commitInMemory(harness);
  await fc.assert(
    fc.asyncProperty(fc.array(each, { minLength: 8, maxLength: 40 }), async (steps) => {
      // A store keeps what earlier histories of a project have inserted.
      const home = source === undefined ? one_home : await harness.newOrganization();
      const world = await openWorld(harness, home, source);
      await play(world, steps);
      await count(world, counts);
    }),
    { numRuns: histories, ...(seed === undefined ? {} : { seed }) },
  );
  return counts;
}

/**
 * Nobody kills the control store here, and waiting for the disk would take most of the time: from
 * now on the harness's connections do without it.
 */
async function commitInMemory({ deps }: Harness): Promise<void> {
  await deps.db.text(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', ` +
      'current_database()); END $$',
  );
  // Those that are open already would keep what they have. They are ended, and the pool opens
  // others.
  const others =
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ' +
    'current_database() AND pid <> pg_backend_pid()';
  await deps.db.transaction(async (tx) => {
    await tx.text(others);
    await tx.text('SET SESSION synchronous_commit = off');
  });
}

async function play(world: World, steps: Step[]): Promise<void> {
  for (const one of steps) await take(world, one);
  assert.equal(
    (await compare(world, { inserted_from: Infinity, with_doubt: true })).doubled,
    0,
    'rows were doubled on the way',
  );
  await settle(world);
  assertSame(
    await compare(world, { inserted_from: world.has_gap ? Infinity : world.created_at }),
    'what the schedule had to deliver',
  );
  const now = await databaseInstant(world.engine.db);
  const range = {
    start_at: new Date(now - reach.before).toISOString(),
    end_at: new Date(now + reach.after).toISOString(),
  };
  await post(world, 'backfill/', { ...range, mode: 'missing' });
  await settle(world);
  assertSame(await compare(world, { inserted_from: 0 }), 'everything');
}

function assertSame({ lost, doubled, changed }: Comparison, what: string): void {
  assert.deepEqual({ lost, doubled, changed }, { lost: 0, doubled: 0, changed: 0 }, what);
}

/** Every run completes, and what did not deliver is retried until nothing of it is missing. */
async function settle(world: World): Promise<void> {
  await goOn(world);
  await post(world, 'unpause/', { backfill: true });
  const refused = new Set<string>();
  for (let round = 0; round < rounds_max; round += 1) {
    await schedule(world);
    await advanceBackfills(world.engine);
    await workAll(world);
    if (await isOpen(world)) continue;
    if (!(await retryAll(world, refused))) return;
  }
  assert.fail(`After ${rounds_max} rounds something is still open.`);
}

async function isOpen({ engine, export_id }: World): Promise<boolean> {
  const open = await engine.db.row(sql`
    SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${export_id}
      AND status IN ('Starting', 'Running')
    UNION ALL SELECT 1 FROM batch_export_backfills WHERE batch_export_id = ${export_id}
      AND finished_at IS NULL LIMIT 1`);
  return open !== undefined;
}

/**
 * Retries everything that ended without delivering and was not refused yet; false when there is
 * nothing.
 */
async function retryAll(world: World, refused: Set<string>): Promise<boolean> {
  const runs = await world.engine.db.rows<{ id: string }>(sql`
    SELECT id FROM batch_export_runs WHERE batch_export_id = ${world.export_id}
      AND status = ANY (${ended}) ORDER BY created_at, id`);
  const wanted = runs.filter(({ id }) => !refused.has(id));
  for (const { id } of wanted) {
    await post(world, `runs/${id}/retry/`, {});
    refused.add(id);
  }
  return wanted.length > 0;
}

/** The rows of the export's present revision. */
async function compare(world: World, expectation: Expectation): Promise<Comparison> {
  const { db } = world.engine;
  const { revision } = (await db.row<{ revision: number }>(
    sql`SELECT revision FROM batch_exports WHERE id = ${world.export_id}`,
  ))!;
  const delivered = new Map<string, string[]>();
  for (const delivery of world.destination.values()) {
    if (delivery.revision !== revision) continue;
    for (const uuid of delivery.uuids) delivered.set(uuid, [...(delivered.get(uuid) ?? []), '']);
  }
  return compareRows(
    db,
    { batch_export_id: world.export_id, revision },
    world.source,
    delivered,
    expectation,
  );
}

async function count({ engine, export_id }: World, counts: Record<string, number>): Promise<void> {
  const rows = await engine.db.rows<{ status: string; runs: number }>(
    sql`SELECT status, count(*)::int AS runs FROM batch_export_runs
      WHERE batch_export_id = ${export_id} GROUP BY status`,
  );
  for (const { status, runs } of rows) counts[status] = (counts[status] ?? 0) + runs;
}
