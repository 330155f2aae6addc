import sql from 'sql-template-tag';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { inlineTexts, inline_settings } from '../../../platform/clickhouse/inline_texts.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { filterCondition } from './criteria.ts';
import type { Criteria } from './criteria.ts';
import { idsOfPersons } from './resolve.ts';

type RowCounts = { distinct_ids: number; events: number; person_versions: number };
/** The size of an erasure; without persons, two of the counts are 0. */
export type ErasureSize = RowCounts & { refused_events: number };

/**
 * Counts the rows that an erasure by these criteria would remove from the stores now. Any erasure
 * removes all refused events of the project.
 */
export async function countRows(
  { db, clickhouse }: { db: Queryable; clickhouse: ClickHouse },
  team_id: number,
  criteria: Criteria,
  abort_signal: AbortSignal,
): Promise<ErasureSize> {
  const { named, counts, query_params } =
    criteria.kind === 'events' ? ofEvents(criteria.filter) : ofPersons(criteria);
  const [row] = await clickhouse.rows<RowCounts>({
    query: `WITH named AS (${named}) SELECT toUInt32((${counts.distinct_ids})) AS distinct_ids,
      toUInt32((${counts.events})) AS events,
      toUInt32((${counts.person_versions})) AS person_versions`,
    query_params: { team_id, ...query_params },
    clickhouse_settings: inline_settings,
    abort_signal,
  });
  const refused = await db.row<Pick<ErasureSize, 'refused_events'>>(
    sql`SELECT count(*) AS refused_events FROM refused_events WHERE team_id = ${team_id}`,
  );
  return { ...row!, ...refused! };
}

type Counting = {
  /** A query for the given distinct ids, which `counts` reads. */
  named: string;
  counts: Record<keyof RowCounts, string>;
  query_params: Record<string, unknown>;
};

const rowsOf = (table: string, condition: string) =>
  `SELECT count() FROM ${table} WHERE team_id = {team_id:Int64} AND ${condition}`;

function ofEvents(filter: Extract<Criteria, { kind: 'events' }>['filter']): Counting {
  const { condition, query_params } = filterCondition(filter);
  const none = 'SELECT 0';
  const events = rowsOf('events', condition);
  const counts = { distinct_ids: none, events, person_versions: none };
  return { named: none, counts, query_params };
}

/**
 * Selects the distinct ids that `resolve` finds: the given ones, those of the given persons'
 * events, and all others of the same persons.
 */
function ofPersons(criteria: Extract<Criteria, { kind: 'persons' }>): Counting {
  const { distinct_ids, person_ids } = criteria;
  const given = `SELECT distinct_id FROM named
    UNION DISTINCT SELECT distinct_id FROM events
      WHERE team_id = {team_id:Int64} AND person_id IN {person_ids:Array(UUID)}`;
  const all = `SELECT distinct_id FROM (${given})
    UNION DISTINCT SELECT distinct_id FROM (${idsOfPersons(given)})`;
  const counts = {
    distinct_ids: `SELECT count() FROM (${all})`,
    events: rowsOf('events', `distinct_id IN (${all})`),
    person_versions: rowsOf('persons', `distinct_id IN (${all})`),
  };
  return { named: inlineTexts(distinct_ids, 'distinct_id'), counts, query_params: { person_ids } };
}
