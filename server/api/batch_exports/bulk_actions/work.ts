import sql from 'sql-template-tag';
import { takenOf } from '../../../engine/model/ledger/ledger.ts';
import { restOf } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { appendActivity } from '../../../platform/activity/chain.ts';
import type { Actor } from '../../../platform/activity/chain.ts';
import type { Entry } from '../../../platform/http/write.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Database, Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { exportActionEntry, exportEntry } from '../activity.ts';
import { deleteBatchExport } from '../delete.ts';
import { paused, recordPause, unpaused } from '../pause.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { cancelRun } from '../runs/cancel.ts';
import { retryRun } from '../runs/retry.ts';
import type { RestOf } from '../runs/retry_plan.ts';
import { lockRun } from '../runs/store.ts';
import { findBatchExport, lockBatchExport, updateBatchExport } from '../store.ts';
import type { LockedExport } from '../store.ts';
import { refusalOf, refused, resultOf, succeeded } from './results.ts';
import type { Item, Result } from './results.ts';
import { isOfRuns } from './schema.ts';
import type { BulkKind } from './schema.ts';
import { abortBulkAction } from './store.ts';

/** The parts of the process that the worker uses. */
export type BulkWorker = { db: Database; secrets: Secrets; log: Logger };

/** Few enough to hold the lock on an export briefly, many enough for thousands a minute. */
const lot_items = 100;

type OpenAction = {
  id: string;
  organization_id: string;
  team_id: number | null;
  action: BulkKind;
  options: { backfill: boolean };
  actor: Actor;
};
/**
 * Processes all open actions, one batch of each in turn, until none is pending or the signal
 * aborts. Returns the number of processed items. Guarantees: an item and its result are stored
 * together, so a kill neither repeats nor loses an item. Several processes may work at the same
 * time. A failure that one item causes becomes the result of that item.
 */
export async function workBulkActions(worker: BulkWorker, signal?: AbortSignal): Promise<number> {
  let done = 0;
  for (;;) {
    const open = await worker.db.rows<{ id: string }>(
      sql`SELECT id FROM bulk_actions WHERE status = 'Running' ORDER BY created_at`,
    );
    let more = 0;
    for (const { id } of open) {
      if (signal?.aborted === true) return done;
      more += await workLot(worker, id);
    }
    if (more === 0) return done;
    done += more;
  }
}

async function workLot(worker: BulkWorker, id: string): Promise<number> {
  try {
    return await worker.db.transaction((tx) => lot(worker, tx, id, lot_items));
  } catch (error) {
    worker.log.warn({ err: error, bulk_action: id }, 'items of an action are tried one by one');
  }
  try {
    return await worker.db.transaction((tx) => lot(worker, tx, id, 1));
  } catch (error) {
    worker.log.error({ err: error, bulk_action: id }, 'an item of an action failed');
    return worker.db.transaction((tx) => giveUpOne(tx, id));
  }
}

/**
 * Processes up to `count` items of one export and returns their number; 0 if another worker has the
 * export.
 */
async function lot(
  worker: BulkWorker,
  tx: Transaction,
  id: string,
  count: number,
): Promise<number> {
  const isAllowed = await holdAuthor(tx, id);
  const open = await tx.row<OpenAction>(sql`
    SELECT id, organization_id, team_id, action, options, actor FROM bulk_actions
    WHERE id = ${id}::uuid AND status = 'Running' FOR UPDATE SKIP LOCKED`);
  if (open === undefined) return 0;
  if (!isAllowed) {
    await abortBulkAction(
      tx,
      id,
      'The author is no longer an active member of the organization, or the service key was ' +
        'revoked.',
    );
    return 0;
  }
  const items = await nextItems(tx, id, count);
  const { organization_id, team_id } = open;
  const place = { organization_id, ...(team_id === null ? {} : { team_id }) };
  const row =
    items.length === 0 ? undefined : await lockBatchExport(tx, place, items[0]!.batch_export_id);
  const { results, entry } =
    row === undefined
      ? allRefused(items, 'The export was deleted.')
      : await act(tx, open, place, row, items);
  await keepResults(tx, id, results);
  if (entry !== undefined)
    await appendActivity(tx, worker.secrets, { organization_id }, open.actor, entry);
  return items.length;
}

/** Locks the author's membership or service key until the transaction ends, before other locks. */
async function holdAuthor(tx: Transaction, id: string): Promise<boolean> {
  const member = await tx.row(sql`
    SELECT 1 FROM members m JOIN bulk_actions b ON b.user_id = m.user_id
      AND b.organization_id = m.organization_id
    JOIN users u ON u.id = m.user_id AND u.is_active WHERE b.id = ${id}::uuid FOR SHARE OF m`);
  if (member !== undefined) return true;
  const key = await tx.row(sql`
    SELECT 1 FROM service_keys k JOIN bulk_actions b ON b.service_key_id = k.id
      AND b.organization_id = k.organization_id WHERE b.id = ${id}::uuid FOR SHARE OF k`);
  return key !== undefined;
}

/** Returns the next pending items of one export. Uses bulk_action_items_pending. */
async function nextItems(tx: Transaction, id: string, count: number): Promise<Item[]> {
  const items = await tx.rows<Item>(sql`
    SELECT number, batch_export_id, run_id FROM bulk_action_items
    WHERE bulk_action_id = ${id}::uuid AND outcome = 'pending' ORDER BY number LIMIT ${count}`);
  return items.filter((item) => item.batch_export_id === items[0]!.batch_export_id);
}

type Acted = { results: Result[]; entry: Entry | undefined };

/** Processes the items; a refusal of their export is the result of each. */
async function act(
  tx: Transaction,
  open: OpenAction,
  place: Place,
  row: LockedExport,
  items: Item[],
): Promise<Acted> {
  if (isOfRuns(open.action)) return actOnRuns(tx, open, row, items);
  try {
    return await actOnExport(tx, open, place, row, items);
  } catch (error) {
    return allRefused(items, refusalOf(error));
  }
}

async function actOnRuns(
  tx: Transaction,
  { id, action }: OpenAction,
  row: LockedExport,
  items: Item[],
): Promise<Acted> {
  const rest = restOfExport(tx, row);
  const results: Result[] = [];
  for (const item of items) {
    const run = await lockRun(tx, row.id, item.run_id!);
    if (run === undefined) results.push(refused(item, 'The run no longer exists.'));
    else
      results.push(
        await resultOf(item, async () => {
          if (action === 'retry_runs') {
            const new_run_id = await retryRun(tx, row, run, rest.of);
            if (run.backfill?.mode === 'all') rest.forget();
            return { outcome: 'succeeded', new_run_id };
          }
          await cancelRun(tx, row.id, run);
          return { outcome: 'succeeded' };
        }),
      );
  }
  const done = results.filter(({ outcome }) => outcome === 'succeeded').length;
  const activity = action === 'retry_runs' ? 'runs_retried' : 'runs_cancelled';
  return {
    results,
    entry:
      done === 0 ? undefined : exportActionEntry(activity, row, { runs: done, bulk_action: id }),
  };
}

/**
 * Returns the undelivered areas of the export, read once per batch: the export is locked, so only
 * this batch adds plans.
 */
function restOfExport(tx: Transaction, row: LockedExport): { of: RestOf; forget(): void } {
  let taken: Rectangle[] | undefined;
  return {
    of: async (wanted) => {
      taken ??= (await takenOf(tx, [row])).get(row.id) ?? [];
      const rest = restOf(wanted, taken);
      taken.push(...rest);
      return rest;
    },
    forget: () => {
      taken = undefined;
    },
  };
}

function allRefused(items: Item[], detail: string): Acted {
  return { results: items.map((item) => refused(item, detail)), entry: undefined };
}

async function actOnExport(
  tx: Transaction,
  { id, action, options }: OpenAction,
  place: Place,
  row: LockedExport,
  items: Item[],
): Promise<Acted> {
  const before = (await findBatchExport(tx, place, row.id))!;
  const mark = { field: 'bulk_action', action: 'created', before: null, after: id } as const;
  const marked = (entry: Entry): Entry => ({ ...entry, changes: [...entry.changes, mark] });
  if (action === 'delete_exports') {
    await deleteBatchExport(tx, row.id);
    const entry = marked(exportEntry('deleted', before, undefined));
    return { results: items.map((item) => succeeded(item)), entry };
  }
  const now = await databaseInstant(tx);
  const change =
    action === 'pause_exports' ? paused(row, now) : unpaused(row, now, options.backfill);
  if (change === undefined)
    return {
      results: items.map((item) => ({ ...succeeded(item), outcome: 'unchanged' })),
      entry: undefined,
    };
  // Runs first because it may refuse, and a refused item must change nothing.
  await recordPause(tx, row.id, change);
  await updateBatchExport(tx, row.id, { ...row, ...change.fields });
  const after = (await findBatchExport(tx, place, row.id))!;
  const activity = action === 'pause_exports' ? 'paused' : 'unpaused';
  return {
    results: items.map((item) => succeeded(item)),
    entry: marked(exportEntry(activity, before, after)),
  };
}

/** Stores the results, counts them, and ends the action after its last item. */
async function keepResults(tx: Transaction, id: string, results: Result[]): Promise<void> {
  await tx.run(sql`
    UPDATE bulk_action_items i SET outcome = result.outcome, detail = result.detail,
      new_run_id = result.new_run_id, finished_at = clock_timestamp()
    FROM jsonb_to_recordset(${JSON.stringify(results)}::jsonb) AS result (number int, outcome text,
      detail text, new_run_id uuid)
    WHERE i.bulk_action_id = ${id}::uuid AND i.number = result.number`);
  const count = (outcome: Result['outcome']) =>
    results.filter((result) => result.outcome === outcome).length;
  await tx.run(sql`
    UPDATE bulk_actions b SET succeeded = b.succeeded + ${count('succeeded')}::integer,
      unchanged = b.unchanged + ${count('unchanged')}::integer,
      refused = b.refused + ${count('refused')}::integer, last_updated_at = now(),
      status = CASE WHEN waits.any THEN 'Running' ELSE 'Completed' END,
      finished_at = CASE WHEN NOT waits.any THEN clock_timestamp() END
    FROM (SELECT EXISTS (SELECT 1 FROM bulk_action_items
      WHERE bulk_action_id = ${id}::uuid AND outcome = 'pending') AS any) waits
    WHERE b.id = ${id}::uuid`);
}

async function giveUpOne(tx: Transaction, id: string): Promise<number> {
  const open = await tx.row(sql`SELECT 1 FROM bulk_actions WHERE id = ${id}::uuid
    AND status = 'Running' FOR UPDATE SKIP LOCKED`);
  if (open === undefined) return 0;
  const items = await nextItems(tx, id, 1);
  const detail = 'The server failed on it; the server log says why. Try it by itself.';
  await keepResults(
    tx,
    id,
    items.map((item) => refused(item, detail)),
  );
  return items.length;
}
