import sql from 'sql-template-tag';
import { openStallTimer } from '../../../platform/pacing/stall_timer.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { eventFilterOf } from '../../model/models/event_filter.ts';
import { readReceipt } from '../runs/receipt.ts';
import type { Receipt } from '../runs/receipt.ts';
import { openConfig } from '../runs/run_input.ts';
import { columnsOf } from '../source/source_query.ts';
import type { LookedAtExport } from '../verification/missing_deliveries.ts';

/** An export that waits to be reconciled. */
export type WaitingExport = LookedAtExport & {
  planned_until: string;
  taken_at: string;
  goes_on: boolean;
};

/** A receipt of a delivery that the control store does not list as completed. */
export type NewReceipt = { receipt: Receipt; text: string };

/** The receipts and files of an export at the destination. */
export type Found = {
  receipts: NewReceipt[];
  /** Files that readers see and no receipt names: the server stopped during a commit. */
  loose: string[];
  /** Receipts with another shape than the export's: delivered after a lost change. */
  others: NewReceipt[];
};

/** After this long without a receipt or an answer, the reconciliation stops waiting. */
const stall_milliseconds = 120_000;

/** Reads deliveries from the destination that this server does not know. */
export async function findReceipts(
  engine: Engine,
  row: WaitingExport,
  definition: DestinationDefinition,
): Promise<Found> {
  const found: Found = { receipts: [], loose: [], others: [] };
  if (definition.receipts === undefined) return found;
  const known = await listKnown(engine, row.id);
  const timer = openStallTimer(stall_milliseconds, 'It gave no answer for two minutes.');
  try {
    const deps = destinationDeps(engine, timer.signal, timer.refresh);
    const given = definition.receipts(openConfig(engine, row.id, row), deps, {
      batch_export_id: row.id,
      timezone: row.timezone,
      isKnown: (delivery) => known.has(delivery.slice(-12)),
    });
    for await (const { name, text } of given) {
      timer.refresh();
      const receipt = text === undefined ? undefined : readReceipt(text, engine.secrets.public_key);
      if (text === undefined) found.loose.push(name);
      // A receipt without this server's signature proves nothing here.
      if (receipt?.batch_export_id !== row.id || receipt.team_id !== row.team_id) continue;
      if (known.has(receipt.delivery_id.slice(-12))) continue;
      const kind = isOfShape(receipt, row, definition) ? found.receipts : found.others;
      kind.push({ receipt, text: text! });
    }
  } finally {
    timer.end();
  }
  return { ...found, loose: await withoutOwn(engine, found.loose) };
}

/** Returns the names of slices that belong to no run of this server: runs replace their own. */
async function withoutOwn(engine: Engine, names: string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const endOf = (name: string) => /-([0-9a-f]{12})-\d+\./.exec(name)?.[1] ?? '';
  const rows = await engine.db.rows<{ delivery: string }>(sql`
    SELECT right(delivery_id::text, 12) AS delivery FROM batch_export_runs
    WHERE right(delivery_id::text, 12) = ANY (${[...new Set(names.map(endOf))]}::text[])`);
  const own = new Set(rows.map(({ delivery }) => delivery));
  return names.filter((name) => !own.has(endOf(name)));
}

/** Lists the id suffixes of completed deliveries; names contain no more of the id. */
async function listKnown(engine: Engine, exportId: string): Promise<Set<string>> {
  const rows = await engine.db.rows<{ delivery: string }>(sql`
    SELECT right(delivery_id::text, 12) AS delivery FROM batch_export_runs
    WHERE batch_export_id = ${exportId} AND status = 'Completed'`);
  return new Set(rows.map(({ delivery }) => delivery));
}

/** A receipt has no revision, so its content decides whether it belongs to the present one. */
function isOfShape(
  receipt: Receipt,
  row: WaitingExport,
  definition: DestinationDefinition,
): boolean {
  const { include_events, exclude_events } = eventFilterOf(row.destination_config);
  // A receipt has the typed columns of its time.
  const typed = new Set((row.typed_columns ?? []).map(({ column }) => column));
  const isOwn = ({ name }: { name: string }) => !typed.has(name);
  const columns = columnsOf(row, definition.column_set)
    .filter(isOwn)
    .map(({ name, type }) => [name, type]);
  const shape = (...parts: unknown[]) => JSON.stringify(parts);
  return (
    shape(row.model, include_events, exclude_events, columns) ===
    shape(
      receipt.model,
      receipt.include_events,
      receipt.exclude_events,
      receipt.columns.filter(isOwn).map(({ name, type }) => [name, type]),
    )
  );
}
