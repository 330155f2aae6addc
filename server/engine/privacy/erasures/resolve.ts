import sql from 'sql-template-tag';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { rememberErased } from '../../ingest/persons/erased_ids.ts';
import { lockForWriting, readState } from '../../ingest/lock.ts';
import type { Engine } from '../../exports/engine.ts';
import { openCriteria } from './criteria.ts';
import type { Criteria } from './criteria.ts';
import type { Erasure, StepEnd } from './erasure.ts';

const ids_per_batch = 5_000;
const resolving_tables = ['events', 'persons', 'erasing_ids'];

/**
 * Finds all distinct ids of the persons and stores them as erased, under the project's lock of
 * ingestion. Later ingestion then sees them. May be repeated.
 */
export async function resolve(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { clickhouse, db, secrets } = engine;
  const { id: erasure_id, team_id } = erasure;
  const criteria = openCriteria(secrets, erasure_id, erasure.criteria_sealed!);
  return db.transaction(async (tx): Promise<StepEnd> => {
    await lockForWriting(tx, team_id);
    const state = await readState(tx, team_id);
    if (state.batch_id !== null)
      return {
        step: 'resolve',
        detail: 'Waits for the outcome of a batch of events.',
        wait_seconds: 1,
      };
    // A rewritten copy must not lack rows that retention is about to remove.
    const removal = await tx.row(sql`SELECT 1 FROM retention_removals
      WHERE team_id = ${team_id} AND ended_at IS NULL`);
    if (removal !== undefined)
      return {
        step: 'resolve',
        detail: 'Waits until retention has removed its rows.',
        wait_seconds: 2,
      };
    const next = { step: 'note', detail: null, stored_until: state.now } as const;
    if (criteria.kind === 'events') return next;
    // Rows ingested before the lock was taken must be visible.
    const distinct_ids = await caughtUp(clickhouse, resolving_tables, () =>
      rememberIds(engine, tx, erasure, criteria, signal),
    );
    return { ...next, counts: { distinct_ids } };
  });
}

async function rememberIds(
  { clickhouse, secrets }: Engine,
  tx: Transaction,
  erasure: Erasure,
  criteria: Extract<Criteria, { kind: 'persons' }>,
  signal: AbortSignal,
): Promise<number> {
  const { id: erasure_id, team_id, late_events } = erasure;
  await clickhouse.command({
    query: 'ALTER TABLE erasing_ids DROP PARTITION {erasure_id:UUID}',
    query_params: { erasure_id },
  });
  await insertGiven(clickhouse, erasure_id, criteria);
  await insertWholePersons(clickhouse, erasure, criteria, signal);
  let distinct_ids = 0;
  for await (const ids of idsOf(clickhouse, erasure_id, signal)) {
    distinct_ids += ids.length;
    await rememberErased(tx, secrets, { team_id, erasure_id, late_events }, ids);
  }
  return distinct_ids;
}

async function insertGiven(
  clickhouse: ClickHouse,
  erasure_id: string,
  { distinct_ids }: Extract<Criteria, { kind: 'persons' }>,
): Promise<void> {
  if (distinct_ids.length === 0) return;
  await clickhouse.insert({
    table: 'erasing_ids',
    values: distinct_ids.map((distinct_id) => ({ erasure_id, distinct_id })),
    format: 'JSONEachRow',
  });
}

/**
 * Adds the ids of the given ids' persons: each distinct id whose latest version belongs to them,
 * and for persons known only from events the ids of these events.
 */
async function insertWholePersons(
  clickhouse: ClickHouse,
  { id: erasure_id, team_id }: Erasure,
  { person_ids }: Extract<Criteria, { kind: 'persons' }>,
  abort_signal: AbortSignal,
): Promise<void> {
  const given = 'SELECT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID}';
  const query_params = { erasure_id, team_id, person_ids };
  const wanted = '{person_ids:Array(UUID)}';
  if (person_ids.length > 0)
    await clickhouse.command({
      query: `INSERT INTO erasing_ids SELECT DISTINCT {erasure_id:UUID}, distinct_id FROM events
        WHERE team_id = {team_id:Int64} AND person_id IN ${wanted}`,
      query_params,
      abort_signal,
    });
  await clickhouse.command({
    query: `INSERT INTO erasing_ids SELECT DISTINCT {erasure_id:UUID}, distinct_id FROM persons
      WHERE team_id = {team_id:Int64} AND distinct_id IN (${idsOfPersons(given)})
        AND distinct_id NOT IN (${given})`,
    query_params,
    abort_signal,
  });
}

/**
 * Returns a query for the distinct ids of persons that own an id of the query `given` or are in
 * `person_ids`, by the latest version of each id.
 */
export function idsOfPersons(given: string): string {
  const wanted = '{person_ids:Array(UUID)}';
  return `WITH now AS (SELECT distinct_id, any(person_id) AS own,
      argMax(belongs_to, (person_version, inserted_at)) AS person
    FROM persons WHERE team_id = {team_id:Int64} GROUP BY distinct_id)
    SELECT distinct_id FROM now
    WHERE person IN (SELECT person FROM now WHERE distinct_id IN (${given})
      OR own IN ${wanted} OR person IN ${wanted})`;
}

async function* idsOf(
  clickhouse: ClickHouse,
  erasure_id: string,
  abort_signal: AbortSignal,
): AsyncGenerator<string[]> {
  const result = await clickhouse.query({
    query: `SELECT DISTINCT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID}
      ORDER BY distinct_id`,
    query_params: { erasure_id },
    format: 'JSONEachRow',
    abort_signal,
  });
  let ids: string[] = [];
  for await (const rows of result.stream<{ distinct_id: string }>())
    for (const row of rows) {
      ids.push(row.json().distinct_id);
      if (ids.length < ids_per_batch) continue;
      yield ids;
      ids = [];
    }
  if (ids.length > 0) yield ids;
}

/** Returns all distinct ids that `resolve` found for the persons of an erasure. */
export async function allIds(
  clickhouse: ClickHouse,
  erasure_id: string,
  signal: AbortSignal,
): Promise<string[]> {
  const all: string[] = [];
  for await (const ids of idsOf(clickhouse, erasure_id, signal)) all.push(...ids);
  return all;
}
