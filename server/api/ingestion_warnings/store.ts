import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { List } from '../../platform/http/lists/pagination.ts';

/** The requested warnings. */
export type WarningsWanted = {
  team_id: number;
  after: string;
  before: string;
  interval: 'hour' | 'day';
  reason: string | undefined;
};

const starts: Record<WarningsWanted['interval'], Sql> = {
  hour: sql`w.hour`,
  day: sql`date_trunc('day', w.hour)`,
};

// Uses the primary key (team_id, hour, reason).
const matching = ({ team_id, after, before, reason }: WarningsWanted) => sql`
  FROM ingestion_warnings w WHERE w.team_id = ${team_id} AND w.hour >= ${after}::timestamptz
    AND w.hour < ${before}::timestamptz
    AND (${reason ?? null}::text IS NULL OR w.reason = ${reason ?? null}::text)`;

/** Lists the warnings, newest first, and by reason within a period. */
export function listWarnings(wanted: WarningsWanted): List {
  return {
    rows: (page) => sql`
      SELECT ${starts[wanted.interval]} AS start_at, w.reason, sum(w.events)::bigint AS events,
      max(w.last_at) AS last_at,
      (array_agg(w.examples ORDER BY w.hour DESC))[1] AS examples
      ${matching(wanted)} GROUP BY 1, 2 ORDER BY 1 DESC, 2
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM (SELECT ${starts[wanted.interval]}, w.reason
      ${matching(wanted)} GROUP BY 1, 2) AS found`,
  };
}
