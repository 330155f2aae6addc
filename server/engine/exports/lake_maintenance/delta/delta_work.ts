import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { isoInstant } from '../../../../platform/clock.ts';
import { keepLog } from '../../../destinations/lake/delta_log/keep_log.ts';
import type { Engine } from '../../engine.ts';
import {
  claim_seconds,
  countChanges,
  day_seconds,
  failed_detail,
  failed_pause_seconds,
  maintainDue,
  pause_seconds,
  whileRenewed,
} from '../lease.ts';
import type { MaintenanceResult, Round as LakeRound } from '../maintain.ts';
import { dropOtherJobs } from '../rewrite_rows.ts';
import { listJobs, maintainTables } from '../work.ts';
import { compactDelta } from './compact_delta.ts';
import { openDeltaTable } from './delta_table.ts';
import type { DeltaTable } from './delta_table.ts';
import { vacuum } from './vacuum.ts';

/** A round at a table. */
type Round = Pick<LakeRound, 'result' | 'detail' | 'has_cleaned'>;
type Claimed = { id: string; claim_id: string; is_daily: boolean };

const nothing_done: MaintenanceResult = {
  files_compacted: 0,
  files_written: 0,
  bytes_written: 0,
  manifests_merged: 0,
  snapshots_expired: 0,
  data_files_removed: 0,
  metadata_files_removed: 0,
  orphans_removed: 0,
};
const off_detail = 'Off: the table has the property `sluice.maintenance` = `false`.';

/** Maintains the tables that are due, of our own catalog and then Delta tables; their number. */
export async function maintainLake(engine: Engine, signal: AbortSignal): Promise<number> {
  const done = await maintainTables(engine, signal);
  return done + (await maintainDeltaTables(engine, signal));
}

/**
 * Maintains the Delta tables of exports that are due, one after the other, and gives their number.
 * One process is at an export's table, whose lease it renews. Two of them would do no harm: the
 * log takes one commit of a version. A table that fails waits an hour and says why.
 */
export async function maintainDeltaTables(engine: Engine, signal: AbortSignal): Promise<number> {
  return maintainDue(
    signal,
    () => claimTable(engine),
    (claimed) => maintainClaimed(engine, claimed, signal),
  );
}

/** Does what a table needs; each step is complete alone. */
export async function maintainDeltaTable(
  one: DeltaTable,
  { is_daily, cleans }: { is_daily: boolean; cleans: boolean },
): Promise<Round> {
  const compacted = await compactDelta(one, is_daily);
  if (compacted.into > 0) await keepLog(one.world, one.state);
  const cleaned = cleans ? await vacuum(one) : { removed: 0, orphans: 0 };
  const result: MaintenanceResult = {
    ...nothing_done,
    files_compacted: compacted.files,
    files_written: compacted.into,
    bytes_written: compacted.bytes,
    data_files_removed: cleaned?.removed ?? 0,
    orphans_removed: cleaned?.orphans ?? 0,
  };
  return { result, detail: compacted.detail, has_cleaned: cleans };
}

/** Takes the table that is due longest; those of exports that wait to be reconciled are left. */
async function claimTable({ db, clock }: Engine): Promise<Claimed | undefined> {
  const now = isoInstant(clock.now());
  await db.run(sql`INSERT INTO delta_maintenance (batch_export_id, due_at)
    SELECT id, ${now}::timestamptz FROM batch_exports export
    WHERE destination_type = 'Delta' AND deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM delta_maintenance m WHERE m.batch_export_id = export.id)
    ON CONFLICT DO NOTHING`);
  return db.row<Claimed>(sql`
    UPDATE delta_maintenance m SET claim_id = ${randomUUID()}::uuid, claimed_at = ${now}
    WHERE m.batch_export_id = (SELECT one.batch_export_id FROM delta_maintenance one
      JOIN batch_exports export ON export.id = one.batch_export_id
      WHERE one.due_at <= ${now}::timestamptz AND export.deleted_at IS NULL
        AND export.destination_type = 'Delta'
        AND (one.claimed_at IS NULL OR one.claimed_at
          < ${now}::timestamptz - make_interval(secs => ${claim_seconds}))
        AND NOT EXISTS (SELECT 1 FROM reconciliations waiting
          WHERE waiting.batch_export_id = export.id)
      ORDER BY one.due_at LIMIT 1 FOR UPDATE OF one SKIP LOCKED)
    RETURNING m.batch_export_id AS id, m.claim_id, m.cleaned_at IS NULL OR m.cleaned_at
      <= ${now}::timestamptz - make_interval(secs => ${day_seconds}) AS is_daily`);
}

async function maintainClaimed(
  engine: Engine,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<void> {
  const { is_daily } = claimed;
  try {
    const round = await whileHeld(engine, claimed, signal, async (held) => {
      await dropOtherJobs(engine, listJobs);
      const table = await openDeltaTable(engine, claimed.id, claimed.claim_id, held);
      if (table === undefined) return undefined;
      if (!table.rules.is_on)
        return { result: nothing_done, detail: off_detail, has_cleaned: false };
      return maintainDeltaTable(table, { is_daily, cleans: is_daily });
    });
    await giveBack(engine, claimed, round, pause_seconds);
  } catch (error) {
    if (signal.aborted) return await giveBack(engine, claimed, undefined, 0);
    engine.log.error({ err: error, batch_export_id: claimed.id }, 'maintenance of a table failed');
    await giveBack(engine, claimed, undefined, failed_pause_seconds);
  }
}

/** Does other work at a table, beside which no maintenance runs; undefined: somebody is at it. */
export async function whileDeltaUnmaintained<Result>(
  engine: Engine,
  id: string,
  signal: AbortSignal,
  work: (table: DeltaTable | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  const { db, clock } = engine;
  const now = isoInstant(clock.now());
  const claim_id = randomUUID();
  const held = await db.run(sql`
    INSERT INTO delta_maintenance AS m (batch_export_id, claim_id, claimed_at)
    VALUES (${id}::uuid, ${claim_id}::uuid, ${now}::timestamptz)
    ON CONFLICT (batch_export_id) DO UPDATE SET claim_id = ${claim_id}::uuid, claimed_at = ${now}
    WHERE m.claimed_at IS NULL
      OR m.claimed_at < ${now}::timestamptz - make_interval(secs => ${claim_seconds})`);
  if (held === 0) return undefined;
  try {
    return await whileHeld(engine, { id, claim_id }, signal, async (own) =>
      work(await openDeltaTable(engine, id, claim_id, own)),
    );
  } finally {
    await db.run(sql`UPDATE delta_maintenance SET claim_id = NULL, claimed_at = NULL
      WHERE batch_export_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
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
    db.run(sql`UPDATE delta_maintenance
      SET claimed_at = ${isoInstant(clock.now())}
      WHERE batch_export_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
  return whileRenewed(log, signal, renew, work);
}

async function giveBack(
  engine: Engine,
  { id, claim_id }: Claimed,
  round: Round | undefined,
  wait_seconds: number,
): Promise<void> {
  const { db, clock } = engine;
  const now = clock.now();
  const has_changed = countChanges(engine, round?.result);
  const detail = wait_seconds === failed_pause_seconds ? failed_detail : (round?.detail ?? null);
  await db.run(sql`UPDATE delta_maintenance SET claim_id = NULL, claimed_at = NULL,
      due_at = ${isoInstant(now + wait_seconds * 1_000)}::timestamptz,
      finished_at = CASE WHEN ${round !== undefined} THEN ${isoInstant(now)}::timestamptz
        ELSE finished_at END,
      changed_at = CASE WHEN ${has_changed} THEN ${isoInstant(now)}::timestamptz
        ELSE changed_at END,
      result = CASE WHEN ${has_changed} THEN ${JSON.stringify(round?.result ?? {})}::jsonb
        ELSE result END,
      cleaned_at = CASE WHEN ${round?.has_cleaned === true} THEN ${isoInstant(now)}::timestamptz
        ELSE cleaned_at END,
      detail = ${detail}
    WHERE batch_export_id = ${id}::uuid AND claim_id = ${claim_id}::uuid`);
}
