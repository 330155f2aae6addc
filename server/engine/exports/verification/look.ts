import { hash } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { DeliveredSlices, Delivery, Seal } from '../../model/destination/destination.ts';
import type { Choose, Comparing } from './compare.ts';
import type { DeliveryRun } from './deliveries.ts';

/** The last seal that the destination returned for a delivery. */
type StoredSeal = {
  delivery_id: string;
  run_id: string;
  seal: string;
  is_whole: boolean;
  read_at: string | null;
};

/** A delivery in a look: its seal, and whether its contents were read. */
export type Looked = {
  delivery_id: string;
  run_id: string;
  /** Undefined if the place cannot return seals. */
  seal: string | undefined;
  is_read: boolean;
  /** True if a difference was found before, and the seal is unchanged since. */
  is_known_to_differ: boolean;
  /** True if this very seal is stored already. */
  is_kept: boolean;
};

/** Decides what a look reads: a suspicion always, the rest within its budget. */
export type Look = {
  choose: Choose;
  /** True if a person asked: it reads everything and stores the seals. */
  reads_all: boolean;
  looked: Looked[];
  rows_read: number;
  /** False if the place returned no seals. */
  is_sealed: boolean;
  /** A delivery to a table whose rows identify their deliveries. */
  of_table?: Delivery;
};

/** Deliveries per query for seals. */
export const sealed_deliveries_max = 500;

/**
 * Opens a look that reads every delivery. It fetches the seals first, so that the next look detects
 * changes during the reading.
 */
export function openWholeLook({ definition }: Pick<Comparing, 'definition'>): Look {
  const look: Look = { choose, reads_all: true, looked: [], rows_read: 0, is_sealed: true };
  return look;

  async function choose(...[delivered, source, config, deps]: Parameters<Choose>) {
    for (let from = 0; from < delivered.length; from += sealed_deliveries_max) {
      const asked = delivered.slice(from, from + sealed_deliveries_max);
      const seals = await definition.seals?.(config, asked, source, deps);
      if (seals === undefined) break;
      for (const { delivery, manifest } of asked)
        look.looked.push({
          delivery_id: delivery.delivery_id,
          run_id: delivery.run_id,
          seal: sealText(seals.get(delivery.delivery_id), manifest),
          is_read: true,
          is_known_to_differ: false,
          is_kept: false,
        });
    }
    return { delivered, by: 'all' as const };
  }
}

/** Returns the stored form of a delivery's seal. Another receipt changes it. */
const sealText = (seal: Seal | undefined, receipt: string) =>
  seal && hash('sha256', `${seal.text}\n${receipt}`);

/**
 * Opens a look at deliveries that may read `rows_max` rows in addition to the rows of suspicions.
 * With `needs_seals`, it reads nothing if the place returns none.
 */
export async function openLook(
  { engine, row, definition }: Comparing,
  runs: DeliveryRun[],
  { rows_max, needs_seals }: { rows_max: number; needs_seals: boolean },
): Promise<Look> {
  const stored = await storedSeals(engine.db, row.id, runs);
  const by_id = new Map(runs.map((run) => [run.delivery_id, run]));
  const look: Look = { choose, reads_all: false, looked: [], rows_read: 0, is_sealed: true };
  return look;

  async function choose(...[delivered, source, config, deps]: Parameters<Choose>) {
    const seals = await definition.seals?.(config, delivered, source, deps);
    look.is_sealed = seals !== undefined;
    if (seals === undefined && needs_seals) return { delivered: [], by: 'all' as const };
    const read: DeliveredSlices[] = [];
    for (const one of delivered)
      if (await isRead(one, seals?.get(one.delivery.delivery_id))) read.push(one);
    const by_areas = look.is_sealed && definition.verify_areas !== undefined;
    if (by_areas && delivered[0] !== undefined) look.of_table = delivered[0].delivery;
    return { delivered: read, by: by_areas ? ('areas' as const) : ('all' as const) };
  }

  async function isRead({ delivery: { delivery_id } }: DeliveredSlices, seal: Seal | undefined) {
    const run = by_id.get(delivery_id)!;
    const text = sealText(seal, run.receipt);
    // A run that rewrote the delivery, as for an erasure, has changed its seal on purpose.
    const seen = stored.get(delivery_id);
    const before = seen?.run_id === run.id ? seen : undefined;
    const is_same = text !== undefined && before?.seal === text;
    const is_known_to_differ = is_same && !before.is_whole;
    const is_unread = is_same ? before.is_whole && before.read_at === null : before === undefined;
    const is_suspect =
      seal === undefined || (!is_same && !(before === undefined && (await seal.isExpected())));
    const is_read =
      is_suspect || (is_unread && look.rows_read + run.records <= rows_max && !is_known_to_differ);
    if (is_read) look.rows_read += run.records;
    const { id: run_id } = run;
    const is_kept = is_same && !is_read;
    look.looked.push({ delivery_id, run_id, seal: text, is_read, is_known_to_differ, is_kept });
    return is_read;
  }
}

async function storedSeals(
  db: Queryable,
  id: string,
  runs: DeliveryRun[],
): Promise<Map<string, StoredSeal>> {
  const rows = await db.rows<StoredSeal>(sql`
    SELECT delivery_id, run_id, seal, is_whole, read_at FROM batch_export_seals
    WHERE batch_export_id = ${id}
      AND delivery_id = ANY (${runs.map(({ delivery_id }) => delivery_id)}::uuid[])`);
  return new Map(rows.map((row) => [row.delivery_id, row]));
}

/** Stores the seals of a look; `differing` are the deliveries with a difference. */
export async function keepSeals(
  tx: Transaction,
  batch_export_id: string,
  looked: Looked[],
  differing: ReadonlySet<string>,
): Promise<void> {
  const kept = looked
    .filter(
      ({ seal, is_kept, delivery_id }) =>
        seal !== undefined && !(is_kept && !differing.has(delivery_id)),
    )
    .map((one) => ({
      ...one,
      is_whole: !differing.has(one.delivery_id) && !one.is_known_to_differ,
    }));
  if (kept.length === 0) return;
  await tx.run(sql`
    INSERT INTO batch_export_seals (batch_export_id, delivery_id, run_id, seal, is_whole, seen_at,
      read_at)
    SELECT ${batch_export_id}, kept.delivery_id, kept.run_id, kept.seal, kept.is_whole, now(),
      CASE WHEN kept.is_read THEN now() END
    FROM jsonb_to_recordset(${JSON.stringify(kept)}::jsonb) AS kept (delivery_id uuid, run_id uuid,
      seal text, is_whole boolean, is_read boolean)
    ON CONFLICT (batch_export_id, delivery_id) DO UPDATE SET run_id = excluded.run_id,
      seal = excluded.seal, is_whole = excluded.is_whole, seen_at = excluded.seen_at,
      read_at = CASE WHEN excluded.read_at IS NOT NULL THEN excluded.read_at
        WHEN batch_export_seals.seal = excluded.seal THEN batch_export_seals.read_at END`);
}
