import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { maintenance_property } from '../../model/lake_catalog/tables.ts';
import { writeNotice } from '../../notices/write_notice.ts';
import type { Engine } from '../engine.ts';
import {
  claim_seconds,
  countChanges,
  day_seconds,
  failed_detail,
  failed_pause_seconds,
  maintainDue,
  pause_seconds,
  whileRenewed,
} from './lease.ts';
import { maintainTable } from './maintain.ts';
import type { Round } from './maintain.ts';
import { openMaintainedTable } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { dropOtherJobs } from './rewrite_rows.ts';
import { isMaintained } from './rules.ts';

/** A table in the hands of one process. */
type Claimed = { id: string; team_id: number; claim_id: string; is_daily: boolean };

/**
 * Maintains the tables that are due, one after the other, and gives their number. Guarantee: one
 * process is at a table, whose lease it renews; after a kill another one continues. A table that
 * fails waits an hour and says why.
 */
export async function maintainTables(engine: Engine, signal: AbortSignal): Promise<number> {
  return maintainDue(
    signal,
    () => claimTable(engine),
    (claimed) => maintainClaimed(engine, claimed, signal),
  );
}

/**
 * Takes the table that is due longest. Tables of exports that wait to be reconciled are left alone:
 * after a restore the catalog may be older than the files.
 */
async function claimTable({ db, clock }: Engine): Promise<Claimed | undefined> {
  const now = isoInstant(clock.now());
  await db.run(sql`INSERT INTO lake_maintenance (table_id, due_at)
    SELECT id, ${now}::timestamptz FROM lake_tables t WHERE ${mayBeMaintained(sql`t`)}
      AND NOT EXISTS (SELECT 1 FROM lake_maintenance m WHERE m.table_id = t.id)
    ON CONFLICT DO NOTHING`);
  return db.row<Claimed>(sql`
    UPDATE lake_maintenance m SET claim_id = ${randomUUID()}::uuid, claimed_at = ${now}
    FROM lake_tables t
    WHERE t.id = m.table_id AND m.table_id = (SELECT one.table_id FROM lake_maintenance one
      JOIN lake_tables own ON own.id = one.table_id
      WHERE one.due_at <= ${now}::timestamptz AND ${mayBeMaintained(sql`own`)}
        AND (one.claimed_at IS NULL OR one.claimed_at
          < ${now}::timestamptz - make_interval(secs => ${claim_seconds}))
        AND NOT EXISTS (SELECT 1 FROM reconciliations waiting
          WHERE waiting.batch_export_id = own.batch_export_id)
      ORDER BY one.due_at LIMIT 1 FOR UPDATE OF one SKIP LOCKED)
    RETURNING m.table_id AS id, t.team_id, m.claim_id, m.cleaned_at IS NULL OR m.cleaned_at
      <= ${now}::timestamptz - make_interval(secs => ${day_seconds}) AS is_daily`);
}

/** Has the table an export, or says it or its namespace something of maintenance? */
const mayBeMaintained = (table: Sql) => sql`(${table}.batch_export_id IS NOT NULL
  OR strpos(${table}.metadata, ${JSON.stringify(maintenance_property)}) > 0
  OR EXISTS (SELECT 1 FROM lake_namespaces n WHERE n.id = ${table}.namespace_id
    AND n.properties ? ${maintenance_property}))`;

async function maintainClaimed(
  engine: Engine,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<void> {
  try {
    const round = await whileHeld(engine, claimed, signal, async (held) => {
      await dropOtherJobs(engine, listJobs);
      const table = await openMaintainedTable(engine, claimed, held, claimed.claim_id);
      const { is_daily } = claimed;
      return table !== undefined && isMaintained(table.table)
        ? maintainTable(table, { is_daily, cleans: is_daily })
        : undefined;
    });
    await giveBack(engine, claimed, round);
  } catch (error) {
    if (signal.aborted) return await giveBack(engine, claimed, undefined, 0);
    engine.log.error({ err: error, table: claimed.id }, 'maintenance of a table failed');
    await noteFailure(engine, claimed);
  }
}

/**
 * Does other work at a table for which no maintenance may run beside it. Undefined where another
 * process is at it.
 */
export async function whileUnmaintained<Result>(
  engine: Engine,
  table: { id: string; team_id: number },
  signal: AbortSignal,
  work: (table: MaintainedTable | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  const { db, clock } = engine;
  const now = isoInstant(clock.now());
  const claim_id = randomUUID();
  await db.run(sql`INSERT INTO lake_maintenance (table_id) VALUES (${table.id}::uuid)
    ON CONFLICT DO NOTHING`);
  const held = await db.run(sql`UPDATE lake_maintenance
    SET claim_id = ${claim_id}::uuid, claimed_at = ${now}
    WHERE table_id = ${table.id}::uuid AND (claimed_at IS NULL OR claimed_at
      < ${now}::timestamptz - make_interval(secs => ${claim_seconds}))`);
  if (held === 0) return undefined;
  try {
    return await whileHeld(engine, { ...table, claim_id }, signal, async (own) =>
      work(await openMaintainedTable(engine, table, own, claim_id)),
    );
  } finally {
    await db.run(sql`UPDATE lake_maintenance SET claim_id = NULL, claimed_at = NULL
      WHERE table_id = ${table.id}::uuid AND claim_id = ${claim_id}::uuid`);
  }
}

/** Works at a table while its lease is renewed. */
function whileHeld<Result>(
  { db, clock, log }: Engine,
  { id, claim_id }: Pick<Claimed, 'id' | 'claim_id'>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const renew = () =>
    db.run(sql`UPDATE lake_maintenance
      SET claimed_at = ${isoInstant(clock.now())}
      WHERE table_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
  return whileRenewed(log, signal, renew, work);
}

/** The names of all work that is in progress. */
export async function listJobs({ db }: Engine): Promise<string[]> {
  const rows = await db.rows<{ claim_id: string }>(
    sql`SELECT claim_id FROM lake_maintenance WHERE claim_id IS NOT NULL
      UNION ALL SELECT claim_id FROM delta_maintenance WHERE claim_id IS NOT NULL`,
  );
  return rows.map(({ claim_id }) => claim_id);
}

async function giveBack(
  engine: Engine,
  { id, claim_id }: Claimed,
  round: Round | undefined,
  wait_seconds = pause_seconds,
): Promise<void> {
  const { db, clock } = engine;
  const now = clock.now();
  const has_changed = countChanges(engine, round?.result);
  const details = [round?.unreadable, round?.detail].filter((text) => typeof text === 'string');
  await db.transaction(async (tx) => {
    await tellUnreadable(tx, engine, id, round);
    await tx.run(sql`UPDATE lake_maintenance SET claim_id = NULL, claimed_at = NULL,
      due_at = ${isoInstant(now + wait_seconds * 1_000)}::timestamptz,
      finished_at = CASE WHEN ${round !== undefined} THEN ${isoInstant(now)}::timestamptz
        ELSE finished_at END,
      changed_at = CASE WHEN ${has_changed} THEN ${isoInstant(now)}::timestamptz
        ELSE changed_at END,
      result = CASE WHEN ${has_changed} THEN ${JSON.stringify(round?.result ?? {})}::jsonb
        ELSE result END,
      cleaned_at = CASE WHEN ${round?.has_cleaned === true} THEN ${isoInstant(now)}::timestamptz
        ELSE cleaned_at END,
      detail = ${details.length === 0 ? null : details.join(' ')},
      told = CASE WHEN ${round !== undefined} THEN ${round?.unreadable ?? null} ELSE told END
    WHERE table_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
  });
}

/** Writes a notice of files that cannot be read, once for the same ones. */
async function tellUnreadable(
  tx: Transaction,
  { clock }: Engine,
  table_id: string,
  round: Round | undefined,
): Promise<void> {
  if (round === undefined || round.unreadable === null) return;
  // The export's row first, as the writer of notices asks.
  const found = await tx.row<{ id: string; told: string | null; table: string }>(sql`
    SELECT e.id, m.told, array_to_string(n.levels || t.name, '.') AS "table"
    FROM lake_tables t JOIN lake_namespaces n ON n.id = t.namespace_id
    JOIN lake_maintenance m ON m.table_id = t.id
    JOIN batch_exports e ON e.id = t.batch_export_id AND e.deleted_at IS NULL
    WHERE t.id = ${table_id}::uuid FOR UPDATE OF e`);
  if (found === undefined || found.told === round.unreadable) return;
  await writeNotice(tx, clock, found.id, {
    event: 'table_unreadable',
    detail:
      `${round.unreadable} Files of the table ${found.table} are neither merged nor removed ` +
      'until no snapshot names that file.',
    run: null,
    facts: { table: found.table },
  });
}

async function noteFailure({ db, clock }: Engine, { id, claim_id }: Claimed): Promise<void> {
  await db.run(sql`UPDATE lake_maintenance SET claim_id = NULL, claimed_at = NULL,
      due_at = ${isoInstant(clock.now() + failed_pause_seconds * 1_000)}::timestamptz,
      detail = ${failed_detail}
    WHERE table_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
}
