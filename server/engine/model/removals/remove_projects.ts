import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { caughtUp, onEachReplica } from '../../../platform/clickhouse/topology/caught_up.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { countOldParts, deleteRows, row_tables } from './delete_rows.ts';
import type { RowTable } from './delete_rows.ts';
import { project_tables, vacuum } from './vacuum.ts';

/** After this silence, a process counts as dead. */
const claim_ms = 5 * 60_000;
/** The store rewrites a part once for all projects of a batch. */
const together_max = 100;

type Removal = {
  team_id: number;
  organization_id: string;
  project_name: string;
  requested_at: string;
  removed_at: string;
  events: number;
  persons: number;
};

type Removing = {
  db: Database;
  clickhouse: ClickHouse;
  clock: Clock;
  secrets: Secrets;
  log: Logger;
};

/**
 * Removes the events and persons of deleted projects from the analytics store, and returns the
 * number of finished projects. A removal ends only when a check finds no row of the project, no
 * file that had one, and no export with its history. Then it writes its certificate (a signed
 * count) and an entry in the organization's activity log. Guarantees: a kill at any point loses
 * nothing, and another process continues; several processes never do the same work. If `signal`
 * aborts, the next call continues. `wait_ms`: how long after the deletion pending writes may still
 * arrive.
 */
export async function removeProjects(
  removing: Removing,
  signal: AbortSignal,
  wait_ms: number,
): Promise<number> {
  const claimed = await claim(removing, wait_ms);
  if (claimed.length === 0) return 0;
  await caughtUp(removing.clickhouse, row_tables, () => countFirst(removing, claimed, signal));
  for (const table of row_tables) await removeRows(removing, table, claimed, signal);
  const counts = await onEachReplica(removing.clickhouse, row_tables, () =>
    Promise.all(row_tables.map((table) => countRows(removing.clickhouse, table, claimed, signal))),
  );
  const left = counts.flat();
  const empty = claimed.filter(
    (team_id) => left.every((counts) => !counts.has(team_id)) && !signal.aborted,
  );
  const done = await withoutRest(removing, empty, signal);
  for (const team_id of done) await certify(removing, team_id);
  if (done.length === 0) return 0;
  await vacuum(removing.db, project_tables);
  removing.log.info({ projects: done }, 'the rows of deleted projects are removed');
  return done.length;
}

async function claim({ db, clock }: Removing, wait_ms: number): Promise<number[]> {
  const now = clock.now();
  const rows = await db.rows<{ team_id: number }>(sql`
    UPDATE removals SET claimed_at = ${isoInstant(now)} WHERE team_id IN (
      SELECT team_id FROM removals WHERE ended_at IS NULL
        AND requested_at <= ${isoInstant(now - wait_ms)}::timestamptz
        AND (claimed_at IS NULL OR claimed_at < ${isoInstant(now - claim_ms)}::timestamptz)
      ORDER BY requested_at LIMIT ${together_max} FOR UPDATE SKIP LOCKED)
    RETURNING team_id`);
  return rows.map(({ team_id }) => team_id);
}

/** Counts the rows before any removal: a kill would lose the count. */
async function countFirst(
  { db, clickhouse }: Removing,
  claimed: number[],
  signal: AbortSignal,
): Promise<void> {
  const [events, persons] = await Promise.all(
    row_tables.map((table) => countRows(clickhouse, table, claimed, signal)),
  );
  await db.run(sql`
    UPDATE removals SET events = found.events, persons = found.persons
    FROM unnest(${claimed}::integer[], ${claimed.map((id) => events!.get(id) ?? 0)}::bigint[],
      ${claimed.map((id) => persons!.get(id) ?? 0)}::bigint[]) AS found (team_id, events, persons)
    WHERE removals.team_id = found.team_id AND removals.events IS NULL`);
}

/**
 * Asks the store to rewrite the parts with rows of the projects, without them, and waits. Renews
 * the claim meanwhile.
 */
async function removeRows(
  { db, clock, clickhouse }: Removing,
  table: RowTable,
  team_ids: number[],
  signal: AbortSignal,
): Promise<void> {
  const found = await onEachReplica(clickhouse, [table], () =>
    countRows(clickhouse, table, team_ids, signal),
  );
  if (found.every(({ size }) => size === 0)) return;
  const wanted = {
    table,
    condition: 'team_id IN {team_ids:Array(Int64)}',
    query_params: { team_ids },
  };
  await deleteRows(clickhouse, wanted, signal, (parts) =>
    db.run(sql`UPDATE removals SET claimed_at = ${isoInstant(clock.now())}, parts_left = ${parts}
      WHERE team_id = ANY (${team_ids}::integer[])`),
  );
}

/** Counts the rows of each project in the table, not in a projection. */
async function countRows(
  clickhouse: ClickHouse,
  table: string,
  team_ids: number[],
  abort_signal: AbortSignal,
): Promise<Map<number, number>> {
  const rows = await clickhouse.rows<{ team_id: number | string; rows: number | string }>({
    query: `SELECT team_id, count() AS rows FROM ${table}
      WHERE team_id IN {team_ids:Array(Int64)} GROUP BY team_id`,
    query_params: { team_ids },
    clickhouse_settings: { optimize_use_projections: 0 },
    abort_signal,
  });
  return new Map(rows.map(({ team_id, rows: count }) => [Number(team_id), Number(count)]));
}

/**
 * Returns the projects without rows in any file of the store and without exports; the next call
 * checks the others.
 */
async function withoutRest(
  { db, clickhouse, clock }: Removing,
  team_ids: number[],
  signal: AbortSignal,
): Promise<number[]> {
  const rows = await db.rows<{ team_id: number; removed_at: string; has_exports: boolean }>(sql`
    UPDATE removals SET removed_at = coalesce(removed_at, ${isoInstant(clock.now())}),
      claimed_at = NULL WHERE team_id = ANY (${team_ids}::integer[]) AND ended_at IS NULL
    RETURNING team_id, removed_at, EXISTS (SELECT 1 FROM batch_exports
      WHERE deleted_team_id = removals.team_id) AS has_exports`);
  const done: number[] = [];
  for (const { team_id, removed_at, has_exports } of rows)
    if (
      !has_exports &&
      (await countOldParts(clickhouse, row_tables, Date.parse(removed_at), signal)) === 0
    )
      done.push(team_id);
  return done;
}

async function certify({ db, secrets, clock }: Removing, team_id: number): Promise<void> {
  await db.transaction(async (tx) => {
    const removal = await tx.row<Removal>(sql`
      SELECT team_id, organization_id, project_name, events, persons, requested_at, removed_at
      FROM removals WHERE team_id = ${team_id} AND ended_at IS NULL FOR UPDATE`);
    if (removal === undefined) return;
    const { organization_id, project_name, requested_at, removed_at, events, persons } = removal;
    const ended_at = isoInstant(clock.now());
    const certificate = JSON.stringify({
      team_id,
      project_name,
      organization_id,
      requested_at,
      removed_at,
      certified_at: ended_at,
      events,
      persons,
    });
    await tx.run(sql`UPDATE removals SET ended_at = ${ended_at}, certificate = ${certificate},
      signature = ${secrets.sign(certificate)} WHERE team_id = ${team_id}`);
    await appendActivity(tx, secrets, { organization_id }, server_actor, {
      activity: 'erased',
      scope: 'project',
      item_id: String(team_id),
      item_name: project_name,
      changes: changesOf({ events, persons }, undefined),
    });
  });
}
