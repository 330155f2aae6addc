import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { counted } from '../../../platform/counted.ts';
import { countWaitingTools } from '../../plugins/erasing/erasure_tools.ts';
import { countOldParts, row_tables } from '../../model/removals/delete_rows.ts';
import { vacuum } from '../../model/removals/vacuum.ts';
import type { Engine } from '../../exports/engine.ts';
import type { Erasure, StepEnd } from './erasure.ts';

const own_tables = ['erasing_ids', 'erasing_rows'] as const;

/**
 * Deletes the notes of erasures that no longer exist, because their project was deleted. Returns
 * the number of such erasures.
 */
export async function sweepNotes({ db, clickhouse }: Engine, signal: AbortSignal): Promise<number> {
  const noted = await clickhouse.rows<{ table: string; partition: string }>({
    query: `SELECT DISTINCT table, partition FROM system.parts WHERE database = currentDatabase()
      AND table IN {tables:Array(String)} AND active AND rows > 0`,
    query_params: { tables: [...own_tables] },
    abort_signal: signal,
  });
  const known = await db.rows<{ id: string }>(sql`
    SELECT id FROM erasures WHERE id = ANY (${noted.map(({ partition }) => partition)}::uuid[])`);
  const ids = new Set(known.map(({ id }) => id));
  const left = noted.filter(({ partition }) => !ids.has(partition));
  for (const { table, partition } of left) await dropNotes(clickhouse, table, partition, signal);
  return left.length;
}

async function dropNotes(
  clickhouse: ClickHouse,
  table: string,
  erasure_id: string,
  abort_signal: AbortSignal,
): Promise<void> {
  await clickhouse.command({
    query: `ALTER TABLE ${table} DROP PARTITION {erasure_id:UUID}`,
    query_params: { erasure_id },
    abort_signal,
  });
}

/**
 * Waits until the store has removed the old files, which it keeps for some minutes, then deletes
 * the erasure's notes. May be repeated.
 */
export async function clearFiles(
  { clickhouse }: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const removed_ms = Date.parse(erasure.removed_at!);
  const parts = await countOldParts(clickhouse, [...row_tables, 'lake_rows'], removed_ms, signal);
  if (parts > 0)
    return {
      step: 'files',
      detail: `The rows are deleted. The store keeps ${parts} of its old files for some minutes.`,
      wait_seconds: 5,
    };
  for (const table of own_tables) await dropNotes(clickhouse, table, erasure.id, signal);
  return { step: 'certify', detail: null };
}

/**
 * Signs the result, deletes the erasure's subject, and logs it. It continues once the store has no
 * old file with the notes. May be repeated.
 */
export async function certify(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd | 'done'> {
  const { clickhouse, clock, db, secrets } = engine;
  const tools = await countWaitingTools(db, erasure.id);
  if (tools > 0)
    return {
      step: 'certify',
      detail: `Waits until ${counted(tools, 'tool')} was told of it, for three days at most.`,
      wait_seconds: 2,
    };
  const left = await countOldParts(clickhouse, own_tables, clock.now(), signal);
  if (left > 0)
    return { step: 'certify', detail: 'Waits until its own notes are deleted.', wait_seconds: 1 };
  const is_done = await db.transaction(async (tx) => {
    const finished_at = isoInstant(clock.now());
    const certificate = JSON.stringify({
      version: 1,
      erasure: erasure.id,
      project: erasure.team_id,
      organization: erasure.organization_id,
      kind: erasure.kind,
      late_events: erasure.late_events,
      requested_at: erasure.created_at,
      stored_until: erasure.stored_until,
      removed_at: erasure.removed_at,
      certified_at: finished_at,
      counts: erasure.counts,
      ...(await copiesOf(tx, erasure.id)),
      tools: await toolsOf(tx, erasure.id),
    });
    const ended = await tx.run(sql`
      UPDATE erasures SET status = 'Completed', step = 'done', detail = NULL, claim_id = NULL,
        claimed_at = NULL, criteria_sealed = NULL, finished_at = ${finished_at},
        last_updated_at = now(), certificate = ${certificate},
        signature = ${secrets.sign(certificate)}
      WHERE id = ${erasure.id} AND claim_id = ${erasure.claim_id}::uuid`);
    if (ended === 0) return false;
    const { organization_id } = erasure;
    await appendActivity(tx, secrets, { organization_id }, server_actor, {
      activity: 'erased',
      scope: 'erasure',
      item_id: erasure.id,
      item_name: null,
      changes: changesOf({ ...erasure.counts }, undefined),
    });
    return true;
  });
  if (is_done) await vacuum(db, ['erasures']);
  return 'done';
}

type CopySummary = {
  export: string;
  name: string;
  destination: string;
  deliveries: number;
  rows: number;
};

/**
 * Returns, by export, the rewritten copies and those that somebody has to remove, with places and
 * reasons.
 */
async function copiesOf(
  db: Queryable,
  erasure_id: string,
): Promise<{ copies_rewritten: CopySummary[]; copies_for_you: object[] }> {
  const copies_rewritten = await db.rows<CopySummary>(sql`
    SELECT batch_export_id AS export, min(name) AS name, min(destination_type) AS destination,
      count(*) AS deliveries, sum(records)::bigint AS rows
    FROM erasure_copies WHERE erasure_id = ${erasure_id} AND state = 'rewritten'
    GROUP BY batch_export_id ORDER BY 2, 1`);
  const copies_for_you = await db.rows<object>(sql`
    SELECT batch_export_id AS export, min(name) AS name, min(destination_type) AS destination,
      detail AS reason, count(*) AS deliveries, sum(records)::bigint AS rows,
      (array_agg(place ORDER BY data_interval_start))[1:20] AS places
    FROM erasure_copies WHERE erasure_id = ${erasure_id} AND state <> 'rewritten'
    GROUP BY batch_export_id, detail ORDER BY 2, 1`);
  return { copies_rewritten, copies_for_you };
}

/**
 * Returns the plugins that got events of the persons, and the plugins that were told of the
 * erasure.
 */
function toolsOf(db: Queryable, erasure_id: string): Promise<object[]> {
  return db.rows<object>(sql`
    SELECT plugin_config_id AS plugin_config, name, state, ids, told, detail AS reason,
      wire_instant(told_at) AS told_at
    FROM erasure_tools WHERE erasure_id = ${erasure_id} ORDER BY name, plugin_config_id`);
}
