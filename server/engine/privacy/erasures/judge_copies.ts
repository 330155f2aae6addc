import sql from 'sql-template-tag';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { findRemoved, mayLackEvents, removedSentence } from '../../model/ledger/removed.ts';
import { isMadeOfEvents } from '../../model/models/model.ts';
import { findDestination } from '../../destinations/index.ts';
import { erasedCondition } from '../../exports/source/erased_keys.ts';
import { countRecords } from '../../exports/source/source.ts';
import { openSourceQuery } from '../../exports/source/source_query.ts';
import type { Engine } from '../../exports/engine.ts';
import { whyByHand } from './by_hand.ts';
import type { Erasure } from './erasure.ts';
import { placeOf } from './place.ts';
import { spansNoted } from './remove_rows.ts';
import type { ShownDelivery } from './shown_delivery.ts';

/** Deliveries per pass over all runs of a project. */
const listed_max = 10_000;
const page_size = 100;

type Shown = Pick<ShownDelivery, 'run_id' | 'delivery_id'>;
/** The first and last ingestion of rows, in milliseconds. */
type Taken = { first: number; last: number };

/**
 * Finds the deliveries that contain rows of the erasure and are not listed yet, and lists each with
 * its treatment. `before` the removal, it checks whether the store still has all source rows of a
 * delivery; `after` it, deliveries that came meanwhile count as complete. Returns the number of
 * deliveries that must wait because another erasure is rewriting them.
 */
export async function judgeCopies(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
  when: 'before' | 'after',
): Promise<number> {
  const busy = await listBusy(engine, erasure);
  const spans = [...(await spansNoted(engine.clickhouse, erasure.id, signal)).values()];
  const taken = {
    first: Math.min(...spans.map(({ first }) => Number(first) / 1_000)),
    last: Math.max(...spans.map(({ last }) => Number(last) / 1_000)),
  };
  let left = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const shown = await listShown(engine, erasure, taken, after);
    if (shown.length === 0) return left;
    after = shown.at(-1)!.delivery_id;
    for (let at = 0; at < shown.length; at += page_size) {
      const page = await readShown(engine, shown.slice(at, at + page_size));
      if (page.length === 0) continue;
      const counts = await countErased(engine, erasure.id, page, signal);
      for (const [index, delivery] of page.entries()) {
        const records = counts[index]!;
        if (records === 0) continue;
        if (busy.has(delivery.delivery_id)) left += 1;
        else await listCopy(engine, erasure, { delivery, records }, signal, when);
      }
    }
  }
}

/**
 * Lists deliveries that other erasures of the project are rewriting: their receipts will change.
 */
async function listBusy({ db }: Engine, { id, team_id }: Erasure): Promise<Set<string>> {
  const rows = await db.rows<{ delivery_id: string }>(sql`
    SELECT delivery_id FROM erasure_copies WHERE state IN ('waiting', 'rewriting')
      AND erasure_id IN (SELECT id FROM erasures
        WHERE team_id = ${team_id} AND finished_at IS NULL AND id <> ${id})`);
  return new Set(rows.map(({ delivery_id }) => delivery_id));
}

// Deliveries that nobody could see have no copies. An endpoint sees rows as they arrive.
function listShown(
  { db }: Engine,
  { id, team_id }: Erasure,
  { first, last }: Taken,
  after: string,
): Promise<Shown[]> {
  return db.rows<Shown>(sql`
    SELECT DISTINCT ON (run.delivery_id) run.id AS run_id, run.delivery_id
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE run.team_id = ${team_id} AND run.delivery_id > ${after}::uuid
      AND export.destination_type <> 'NoOp' AND run.generation IS DISTINCT FROM 'replaced'
      AND run.status NOT IN ('Starting', 'Running')
      AND (run.status = 'Completed' OR run.committing_at IS NOT NULL
        OR export.destination_type = 'HTTP')
      AND coalesce(run.records_completed, 1) + run.records_rejected > 0
      AND EXISTS (SELECT 1 FROM jsonb_array_elements(run.selection) AS side
        WHERE coalesce((side ->> 'inserted_to')::float8, 'Infinity') > ${first}::float8
          AND coalesce((side ->> 'inserted_from')::float8, '-Infinity') <= ${last}::float8)
      AND NOT EXISTS (SELECT 1 FROM erasure_copies copy WHERE copy.erasure_id = ${id}
        AND copy.delivery_id = run.delivery_id)
    ORDER BY run.delivery_id, (run.status = 'Completed') DESC, run.finished_at DESC
    LIMIT ${listed_max}`);
}

function readShown({ db }: Engine, shown: Shown[]): Promise<ShownDelivery[]> {
  return db.rows<ShownDelivery>(sql`
    SELECT run.id AS run_id, run.delivery_id, run.batch_export_id,
      export.name, run.team_id, coalesce(run.receipt::jsonb ->> 'model', export.model) AS model,
      export.custom_query, export.write_rule, export.destination_type, export.destination_config,
      run.revision = export.revision AND export.deleted_at IS NULL AS is_current,
      run.status = 'Completed' AS is_completed, run.selection, run.data_interval_start,
      run.data_interval_end, CASE WHEN run.receipt IS NOT NULL THEN jsonb_build_object(
        'source_records', run.receipt::jsonb -> 'source_records',
        'include_events', run.receipt::jsonb -> 'include_events',
        'exclude_events', run.receipt::jsonb -> 'exclude_events',
        'names', jsonb_path_query_array(run.receipt::jsonb, '$.slices[*].name')) END AS facts
    FROM batch_export_runs run JOIN batch_exports export ON export.id = run.batch_export_id
    WHERE run.id = ANY (${shown.map(({ run_id }) => run_id)}::uuid[])`);
}

/** Counts the rows of the erasure in the source of each delivery. */
async function countErased(
  { clickhouse }: Engine,
  erasure_id: string,
  deliveries: ShownDelivery[],
  abort_signal: AbortSignal,
): Promise<number[]> {
  const query_params: Record<string, unknown> = { erasure_id };
  const counts = deliveries.map((delivery, index) => {
    const { include_events = [], exclude_events = [] } = delivery.facts ?? {};
    const named = [
      [include_events, 'IN', `in_${index}`] as const,
      [exclude_events, 'NOT IN', `out_${index}`] as const,
    ].filter(([names]) => names.length > 0 && delivery.model === 'events');
    for (const [names, , name] of named) query_params[name] = names;
    const conditions = [
      erasedCondition(delivery),
      ...named.map(([, operator, name]) => `event ${operator} {${name}:Array(String)}`),
    ];
    return `uniqExactIf(key, ${conditions.join(' AND ')})`;
  });
  const [row] = await clickhouse.rows<{ counts: (number | string)[] }>({
    query: `SELECT [${counts.join(', ')}] AS counts FROM erasing_rows
      WHERE erasure_id = {erasure_id:UUID}`,
    query_params,
    clickhouse_settings: { max_query_size: '64000000', max_ast_elements: '1000000' },
    abort_signal,
  });
  return row!.counts.map(Number);
}

async function listCopy(
  engine: Engine,
  erasure: Erasure,
  { delivery, records }: { delivery: ShownDelivery; records: number },
  signal: AbortSignal,
  when: 'before' | 'after',
): Promise<void> {
  const { id } = erasure;
  const definition = findDestination(delivery.destination_type);
  const reason =
    whyByHand(definition, delivery, erasure) ??
    (when === 'before' && definition?.erases !== 'in_table'
      ? await whyNotWhole(engine, delivery, signal)
      : undefined) ??
    (definition?.erases === 'anew' ? await whyOfFewer(engine, delivery) : undefined);
  await engine.db.run(sql`
    INSERT INTO erasure_copies (erasure_id, delivery_id, batch_export_id, name, destination_type,
      place, data_interval_start, data_interval_end, run_id, records, state, detail)
    SELECT ${id}, ${delivery.delivery_id}, ${delivery.batch_export_id}, ${delivery.name},
      ${delivery.destination_type}, ${placeOf(definition, delivery)},
      ${delivery.data_interval_start}::timestamptz, ${delivery.data_interval_end}::timestamptz,
      ${delivery.run_id}, ${records}::bigint, ${reason === undefined ? 'waiting' : 'yours'},
      ${reason ?? null}
    WHERE EXISTS (SELECT 1 FROM erasures WHERE id = ${id})
    ON CONFLICT DO NOTHING`);
}

/** After a removal by retention, rows computed from events may be fewer than the delivered ones. */
async function whyOfFewer({ db }: Engine, delivery: ShownDelivery): Promise<string | undefined> {
  if (!isMadeOfEvents(delivery.model)) return undefined;
  const removed = await findRemoved(db, delivery.team_id);
  if (removed === undefined || !mayLackEvents(fromStored(delivery.selection), removed))
    return undefined;
  return `${removedSentence(removed)}, so its ${delivery.model} cannot be created again.`;
}

/**
 * Returns why a rewrite would lose more than the erased rows: the source has fewer rows than were
 * delivered. Throws if that is unknown now.
 */
async function whyNotWhole(
  engine: Engine,
  delivery: ShownDelivery,
  signal: AbortSignal,
): Promise<string | undefined> {
  const wanted = delivery.facts?.source_records;
  let found: number | undefined;
  try {
    found = await countRecords(engine, await openSourceQuery(engine, delivery), signal);
  } catch (error) {
    // An unreachable store may have them all, so the step is retried.
    if (!(error instanceof NonRetryableError)) throw error;
    engine.log.info({ err: error, run_id: delivery.run_id }, 'a delivery could not be counted');
  }
  if (found !== undefined && (wanted === undefined || found === wanted)) return undefined;
  return (
    'The analytics store no longer has all rows that this delivery was made from, so it ' +
    'cannot be created again.'
  );
}
