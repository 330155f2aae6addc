import type { Engine } from '../../exports/engine.ts';
import { models } from '../../model/models/index.ts';
import { filterCondition, openCriteria } from './criteria.ts';
import type { Erasure, ErasureCounts, StepEnd } from './erasure.ts';
import { judgeCopies } from './judge_copies.ts';

/** Pause before the deliveries are noted again while another erasure is rewriting them. */
const busy_wait_seconds = 15;

/**
 * Notes the erasure's rows and the deliveries that contain them. Both are only known before the
 * rows are gone. May be repeated.
 */
export async function noteRows(
  engine: Engine,
  erasure: Erasure,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { clickhouse, secrets } = engine;
  const { id: erasure_id, team_id } = erasure;
  const criteria = openCriteria(secrets, erasure_id, erasure.criteria_sealed!);
  const until = Date.parse(erasure.stored_until!);
  const isIts =
    'distinct_id IN (SELECT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID})';
  const filter =
    criteria.kind === 'events'
      ? filterCondition(criteria.filter)
      : { condition: isIts, query_params: {} };
  const asked = {
    query_params: { erasure_id, team_id, until, ...filter.query_params },
    abort_signal: signal,
  };
  await clickhouse.command({
    query: 'ALTER TABLE erasing_rows DROP PARTITION {erasure_id:UUID}',
    ...asked,
  });
  await clickhouse.command({
    query: `INSERT INTO erasing_rows SELECT {erasure_id:UUID}, 'event', toString(uuid), event,
        timestamp, inserted_at FROM events
      WHERE team_id = {team_id:Int64}
        AND inserted_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC') AND ${filter.condition}`,
    ...asked,
  });
  // Lists each change of a session or group that loses events, also changes by other events or an
  // earlier erasure: any delivery of it contains the lost events.
  for (const { key, changes } of [models.sessions, models.groups]) {
    const losing = `team_id = {team_id:Int64} AND ${key} IN (SELECT ${key} FROM events
      WHERE team_id = {team_id:Int64} AND ${key} != ''
        AND inserted_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
        AND ${filter.condition})`;
    await clickhouse.command({
      query: `INSERT INTO erasing_rows SELECT DISTINCT {erasure_id:UUID},
          '${key.replace('_id', '')}', ${key}, '', inserted_at, inserted_at
        FROM ${changes(losing)}`,
      ...asked,
    });
  }
  if (criteria.kind === 'persons')
    await clickhouse.command({
      query: `INSERT INTO erasing_rows SELECT {erasure_id:UUID}, 'person', distinct_id, '',
          inserted_at, inserted_at FROM persons WHERE team_id = {team_id:Int64} AND ${isIts}`,
      ...asked,
    });
  const busy = await judgeCopies(engine, erasure, signal, 'before');
  if (busy > 0)
    return {
      step: 'note',
      detail: `Waits for another erasure, which rewrites ${busy} of the same deliveries.`,
      wait_seconds: busy_wait_seconds,
    };
  return { step: 'remove', detail: null, counts: await countNoted(engine, erasure_id, signal) };
}

async function countNoted(
  { clickhouse }: Engine,
  erasure_id: string,
  abort_signal: AbortSignal,
): Promise<ErasureCounts> {
  const [row] = await clickhouse.rows<Record<string, number | string>>({
    query: `SELECT countIf(kind = 'event') AS events, countIf(kind = 'person') AS person_versions,
        uniqExactIf(key, kind = 'person') AS persons
      FROM erasing_rows WHERE erasure_id = {erasure_id:UUID}`,
    query_params: { erasure_id },
    abort_signal,
  });
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, Number(value)]));
}
