import sql from 'sql-template-tag';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { onEachReplica } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { countWhere, deleteRows, row_tables } from '../../model/removals/delete_rows.ts';
import { retained_tables } from './retained_tables.ts';
import type { RetainedTable } from './retained_tables.ts';
import { anyOf, conditionOf, countBoth, countRows, traceConditionOf } from './rows.ts';
import type { Condition, RowCount, StoredAreas } from './rows.ts';

/** After this silence, a process counts as dead. */
const claim_ms = 5 * 60_000;
/** Time for which removals are reported: 400 days. */
const told_ms = 400 * 24 * 3_600_000;
/** The store rewrites a part once for all removals of a batch. */
const together_max = 20;
/** Some 300 MB in the store. */
const versions_together_max = 2_000_000;

type Removing = { db: Database; clickhouse: ClickHouse; clock: Clock; log: Logger };
type Claimed = { id: string; team_id: number; areas: StoredAreas };

/**
 * Carries out the decided removals and returns the number of finished ones. A removal ends only
 * when a check finds none of its rows in the store. Guarantees: a kill at any point loses nothing,
 * and another process continues with the same decision; several processes never do the same work.
 */
export async function removeDecided(removing: Removing, signal: AbortSignal): Promise<number> {
  const { db, clickhouse, clock, log } = removing;
  const claimed = await claim(removing);
  if (claimed.length === 0) return 0;
  const found = { events: 0, persons: 0 };
  for (const one of claimed) {
    const { events, persons } = await countFirst(removing, one, signal);
    found.events += events.rows;
    found.persons += persons.rows;
  }
  for (const table of retained_tables)
    await removeRows(removing, claimed, table, found[table], signal);
  await removeTraces(removing, claimed, signal);
  let done = 0;
  for (const { id, team_id, areas } of claimed) {
    const left = await onEachReplica(clickhouse, row_tables, () =>
      countBoth(clickhouse, team_id, areas, signal),
    );
    if (left.some(({ events, persons }) => events.rows + persons.rows > 0)) continue;
    done += await db.run(sql`UPDATE retention_removals SET ended_at = ${isoInstant(clock.now())}
      WHERE id = ${id} AND ended_at IS NULL`);
    log.info({ team_id, removal_id: id }, 'retention has removed rows of a project');
  }
  return done;
}

async function claim({ db, clock }: Removing): Promise<Claimed[]> {
  const now = clock.now();
  return db.rows<Claimed>(sql`
    UPDATE retention_removals SET claimed_at = ${isoInstant(now)} WHERE id IN (
      SELECT id FROM retention_removals WHERE ended_at IS NULL
        AND (claimed_at IS NULL OR claimed_at < ${isoInstant(now - claim_ms)}::timestamptz)
      ORDER BY started_at LIMIT ${together_max} FOR UPDATE SKIP LOCKED)
    RETURNING id, team_id, areas`);
}

/** Counts the rows before any removal: a kill would lose the count. */
async function countFirst(
  { db, clickhouse }: Removing,
  { id, team_id, areas }: Claimed,
  signal: AbortSignal,
): Promise<Record<RetainedTable, RowCount>> {
  const found = await countBoth(clickhouse, team_id, areas, signal);
  const { events, persons } = found;
  await db.run(sql`UPDATE retention_removals SET events = ${events.rows}, persons = ${persons.rows}
    WHERE id = ${id} AND events IS NULL`);
  return found;
}

/**
 * Drops whole partitions if they contain nothing else, otherwise rewrites the parts with the
 * `found` rows.
 */
async function removeRows(
  removing: Removing,
  claimed: Claimed[],
  table: RetainedTable,
  found: number,
  signal: AbortSignal,
): Promise<void> {
  const { clickhouse } = removing;
  let left = found;
  if (table === 'events' && left > 0) {
    const whole = anyOf(claimed.map((one) => conditionOf(table, one.team_id, one.areas)));
    if (await dropPartitions(removing, whole, signal))
      left = (await countRows(clickhouse, whole, signal)).rows;
  }
  // Versions of persons are listed one by one; events are selected by an area of any size.
  const of = table === 'events' ? Math.min(left, 1) : Math.ceil(left / versions_together_max);
  for (let number = 0; number < of; number += 1) {
    const part = { number, of };
    const { text, parameters } = anyOf(
      claimed.map((one) => conditionOf(table, one.team_id, one.areas, part)),
    );
    const wanted = { table, condition: text, query_params: parameters };
    // The table itself decides which versions of persons go.
    await deleteRows(clickhouse, wanted, signal, () => stayClaimed(removing, claimed), [table]);
  }
}

/** Removes the removed events from the traces of tools, requests and answers first. */
async function removeTraces(
  removing: Removing,
  claimed: Claimed[],
  signal: AbortSignal,
): Promise<void> {
  const { text, parameters } = anyOf(
    claimed.map(({ team_id, areas }) => traceConditionOf(team_id, areas)),
  );
  if (text === '0') return;
  for (const table of ['tool_exchanges', 'tool_sends'] as const) {
    const wanted = { table, condition: text, query_params: parameters };
    if ((await countWhere(removing.clickhouse, wanted, signal)) > 0)
      await deleteRows(removing.clickhouse, wanted, signal, () => stayClaimed(removing, claimed), [
        table,
      ]);
  }
}

/**
 * Drops the months whose rows, of all projects, are to be removed. These months are complete: their
 * rows were ingested at least a day ago, and no new row gets an earlier instant. Rows without a
 * project hold the token of a batch (ingest/insert.ts). Returns true if it dropped any.
 */
async function dropPartitions(
  { clickhouse, log }: Removing,
  { text, parameters }: Condition,
  signal: AbortSignal,
): Promise<boolean> {
  const months = await clickhouse.rows<{ month: number }>({
    query: `SELECT toYYYYMM(inserted_at) AS month FROM events
      WHERE toYYYYMM(inserted_at) < toYYYYMM(now('UTC') - INTERVAL 1 DAY)
      GROUP BY month HAVING countIf(NOT (${text}) AND team_id != 0) = 0`,
    query_params: parameters,
    clickhouse_settings: { optimize_use_projections: 0, max_query_size: '16000000' },
    abort_signal: signal,
  });
  for (const { month } of months) {
    await clickhouse.command({
      query: `ALTER TABLE events DROP PARTITION ${month}`,
      abort_signal: signal,
    });
    log.info({ month }, 'retention has dropped a partition of events');
  }
  return months.length > 0;
}

/**
 * Deletes reports of removals after 400 days, except the furthest one of each project, which
 * requests for removed rows still need.
 */
export async function sweepRetentionRemovals({ db, clock }: Removing): Promise<void> {
  await db.run(sql`
    DELETE FROM retention_removals old
    WHERE ended_at < ${isoInstant(clock.now() - told_ms)}::timestamptz
      AND EXISTS (SELECT 1 FROM retention_removals other WHERE other.team_id = old.team_id
        AND other.started_at > old.started_at AND other.removed_before >= old.removed_before)`);
}

async function stayClaimed({ db, clock }: Removing, claimed: Claimed[]): Promise<void> {
  await db.run(sql`UPDATE retention_removals SET claimed_at = ${isoInstant(clock.now())}
    WHERE id = ANY (${claimed.map(({ id }) => id)}::uuid[])`);
}
