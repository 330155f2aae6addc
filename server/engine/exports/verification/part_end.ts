import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { Engine } from '../engine.ts';
import { chargeOf, restAfter } from './budget.ts';
import type { Comparison } from './compare.ts';
import type { DeliveryRun } from './deliveries.ts';
import { enterDeviations, openDoubt } from './deviations.ts';
import type { Judged } from './judge.ts';
import { keepSeals } from './look.ts';
import type { Look } from './look.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import { lockHeld } from './verification.ts';
import type { Verification } from './verification.ts';
import { verifiedThrough } from './verified_through.ts';
import { endLook, isRound, noteLook, pauseCycle } from './watches.ts';

/** Further findings of one verification are counted, not stored. */
export const kept_findings_max = 10_000;
const kept_notes_max = 50;

/** A compared part. */
export type PartEnd = {
  comparison: Comparison;
  runs: DeliveryRun[];
  judged: Judged[];
  /** The counts of the whole, if this was the first part. */
  counted: { deliveries: number; records: number } | undefined;
  is_last: boolean;
  /** The seals that the place returned. */
  look: Look;
  took_ms: number;
  /** Processor time that this process used meanwhile. */
  took_cpu_ms: number;
};

/**
 * Stores a part with its findings, and ends the verification with its last part; does nothing if
 * another process has claimed it.
 */
export async function endPart(
  engine: Engine,
  row: LookedAtExport,
  one: Verification,
  end: PartEnd,
): Promise<void> {
  const { comparison, runs, judged, is_last, look } = end;
  const read = look.reads_all ? runs.length : look.looked.filter((of) => of.is_read).length;
  const checked = one.records_checked + runs.reduce((sum, run) => sum + run.records, 0);
  const totals = end.counted ?? { deliveries: one.deliveries!, records: one.records! };
  const notes = [...new Set([...one.notes, ...comparison.notes])].slice(0, kept_notes_max);
  const is_unproven = one.is_unproven || comparison.is_unproven;
  await engine.db.transaction(async (tx) => {
    // Lock order: requests lock the export before its verification.
    await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${row.id} FOR NO KEY UPDATE`);
    if (!(await lockHeld(tx, one))) return;
    if (!one.is_scheduled) await insertFindings(tx, one, judged);
    await enter(tx, engine, row, one, end);
    const doubtful = await openDoubt(tx, row);
    const differences = one.differences + judged.length;
    const deliveries_checked = one.deliveries_checked + runs.length;
    await tx.run(sql`
      UPDATE batch_export_verifications SET claim_id = NULL, claimed_at = NULL,
        due_at = now() + make_interval(secs => ${look.reads_all ? 0 : restAfter(end.took_ms)}),
        deliveries_read = deliveries_read + ${read}, tries = 0, detail = NULL,
        last_updated_at = now(),
        deliveries = greatest(${totals.deliveries}::integer, ${deliveries_checked}::integer),
        records = greatest(${totals.records}::bigint, ${checked}::bigint),
        deliveries_checked = ${deliveries_checked}, records_checked = ${checked},
        records_in_part = 0,
        position = coalesce(${positionOf(runs)}::jsonb, position), differences = ${differences},
        notes = ${JSON.stringify(notes)}::jsonb, is_unproven = ${is_unproven},
        doubtful_from = ${doubtful}::float8
      WHERE id = ${one.id}`);
    const part = { deliveries: runs.length, rows_read: look.rows_read };
    const balance = await noteLook(tx, one, doubtful, {
      ...chargeOf(part, end.took_cpu_ms, one.look_factor),
      asks: look.is_sealed ? 'seals' : 'contents',
    });
    if (!is_last && one.is_scheduled && isRound(one) && balance < 0) await pauseCycle(tx, one);
    if (!is_last) return;
    await endAll(tx, one, { is_unproven, doubtful_from: doubtful, notes });
    if (one.is_scheduled && differences === 0) return;
    await writeRunLog(tx, {
      batch_export_id: row.id,
      run_id: null,
      level: differences === 0 ? 'INFO' : 'WARNING',
      message: endMessage({ deliveries: deliveries_checked, records: checked, differences }),
    });
  });
}

/** Ends a verification whose last part was compared. */
async function endAll(
  tx: Transaction,
  one: Verification,
  found: Pick<Verification, 'is_unproven' | 'notes' | 'doubtful_from'>,
): Promise<void> {
  const { is_unproven, notes, doubtful_from } = found;
  const verified_through = await verifiedThrough(tx, { ...one, is_unproven, doubtful_from });
  await tx.run(sql`
    UPDATE batch_export_verifications SET status = 'Completed', finished_at = now(),
      verified_through = ${verified_through} WHERE id = ${one.id}`);
  await endLook(tx, one, {
    verified_through,
    reason: is_unproven ? (notes[0] ?? null) : null,
    is_unproven,
  });
}

type Totals = { deliveries: number; records: number; differences: number };

function endMessage({ deliveries, records, differences }: Totals): string {
  const verified = `${counted(deliveries, 'delivery')} with ${counted(records, 'row')}`;
  const found =
    differences === 0
      ? 'everything is as delivered.'
      : `${counted(differences, 'difference')} found.`;
  return `Verified ${verified}: ${found}`;
}

/** Stores the seals and findings of a part. */
async function enter(
  tx: Transaction,
  engine: Engine,
  row: LookedAtExport,
  one: Verification,
  { comparison, judged, runs, look, is_last }: PartEnd,
): Promise<void> {
  const ids = look.reads_all
    ? runs.map(({ delivery_id }) => delivery_id)
    : look.looked.filter((of) => !of.is_known_to_differ).map((of) => of.delivery_id);
  // A fault of the whole place affects every delivery.
  const is_of_place = judged.some(({ kind, run }) => run === undefined && kind !== 'foreign');
  const carried = look.looked.filter((of) => of.is_known_to_differ);
  await enterDeviations(tx, engine, row, one, {
    judged,
    compared: comparison.is_unproven || is_of_place ? [] : ids,
    carried: carried.map(({ delivery_id }) => delivery_id),
    is_complete: is_last && isRound(one) && !comparison.is_unproven,
    is_last,
  });
  if (is_of_place) return;
  const differing = new Set(judged.flatMap(({ run }) => run?.delivery_id ?? []));
  await keepSeals(tx, row.id, look.looked, differing);
}

function positionOf(runs: PartEnd['runs']): string | null {
  const last = runs.at(-1);
  if (last === undefined) return null;
  const { data_interval_start, delivery_id } = last;
  return JSON.stringify({ data_interval_start, delivery_id });
}

async function insertFindings(
  tx: Transaction,
  { id, differences }: Verification,
  judged: Judged[],
): Promise<void> {
  const rows = judged
    .slice(0, Math.max(0, kept_findings_max - differences))
    .map(({ run, rows: _rows, ...fault }, index) => ({
      ...fault,
      number: differences + index + 1,
      delivery_id: run?.delivery_id,
      run_id: run?.id,
      data_interval_start: run?.data_interval_start,
      data_interval_end: run?.data_interval_end,
      selects_by: run?.selects_by,
    }));
  if (rows.length === 0) return;
  await tx.run(sql`
    INSERT INTO batch_export_findings (verification_id, number, kind, name, detail, "column",
      expected, found, delivery_id, run_id, data_interval_start, data_interval_end, selects_by)
    SELECT ${id}, found.* FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS found
      (number int, kind text, name text, detail text, "column" text, expected text, found text,
      delivery_id uuid, run_id uuid, data_interval_start timestamptz,
      data_interval_end timestamptz, selects_by text)`);
}
