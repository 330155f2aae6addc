import sql, { empty, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Static } from 'typebox';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { days_shown } from './schema.ts';
import type { CatalogueEventQuery, CataloguePropertyQuery } from './schema.ts';

type Of<Query> = Omit<Query, 'limit' | 'offset'> & { team_id: number };
/** The requested events; `today` is a day in UTC. */
export type EventsWanted = Of<Static<typeof CatalogueEventQuery>> & { today: string };
/** The requested properties. */
export type PropertiesWanted = Of<Static<typeof CataloguePropertyQuery>>;

const named = (column: Sql, { event, search }: { event?: string; search?: string }) => sql`
  ${event === undefined ? empty : sql`AND event = ${event}`}
  ${search === undefined ? empty : sql`AND position(lower(${search}) IN lower(${column})) > 0`}`;

/** Orders by the column of the schema's ordering, then by name, so that the order is stable. */
function ordered(ordering: string, name: 'event' | 'property'): Sql {
  const is_descending = ordering.startsWith('-');
  const column = is_descending ? ordering.slice(1) : ordering;
  return sql`ORDER BY ${raw(`"${column}"`)} ${is_descending ? sql`DESC` : empty}, ${raw(name)}`;
}

/** Lists the events of the catalogue. Uses its primary keys. */
export function listCatalogueEvents(wanted: EventsWanted): List {
  const { team_id, today, ordering = '-events_30_days' } = wanted;
  const matching = sql`FROM event_catalogue c WHERE team_id = ${team_id}
    ${named(sql`event`, wanted)}`;
  const within = (days: number) =>
    sql`coalesce(sum(d.events) FILTER (WHERE d.day > ${today}::date - ${days}::integer), 0)`;
  // Only the rows of the page get their days.
  return {
    rows: ({ limit, offset }) => sql`
      WITH page AS (
        SELECT c.*, days.* FROM (SELECT c.* ${matching}) AS c
          CROSS JOIN LATERAL (
            SELECT ${within(7)}::bigint AS events_7_days,
              ${within(days_shown)}::bigint AS events_30_days
            FROM event_catalogue_days d WHERE d.team_id = c.team_id AND d.event = c.event
              AND d.day <= ${today}::date) AS days
        ${ordered(ordering, 'event')} LIMIT ${limit} OFFSET ${offset})
      SELECT event, events, events_7_days, events_30_days, first_seen_at, last_seen_at,
        (SELECT array_agg(coalesce(d.events, 0)::integer ORDER BY shown.day)
          FROM (SELECT ${today}::date - number AS day
            FROM generate_series(0, ${days_shown - 1}::integer) AS number) AS shown
          LEFT JOIN event_catalogue_days d ON d.team_id = page.team_id AND d.event = page.event
            AND d.day = shown.day) AS by_day,
        (SELECT count(DISTINCT property) FROM event_catalogue_properties p
          WHERE p.team_id = page.team_id AND p.event = page.event) AS properties
      FROM page ${ordered(ordering, 'event')}`,
    count: sql`SELECT count(*) AS count ${matching}`,
  };
}

/** Lists the properties of one event, or of all events, without their shares. */
export function listCatalogueProperties(wanted: PropertiesWanted): List {
  const { team_id, ordering = '-events' } = wanted;
  const matching = sql`FROM event_catalogue_properties WHERE team_id = ${team_id}
    ${named(sql`property`, wanted)}`;
  return {
    rows: ({ limit, offset }) => sql`
      SELECT property, sum(events)::bigint AS events, min(first_seen_at) AS first_seen_at,
        max(last_seen_at) AS last_seen_at,
        json_agg(json_build_object('type', kind, 'events', events) ORDER BY events DESC, kind)
          AS types
      FROM (SELECT property, kind, sum(events)::bigint AS events,
          min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at
        ${matching} GROUP BY property, kind) AS kinds
      GROUP BY property ${ordered(ordering, 'property')} LIMIT ${limit} OFFSET ${offset}`,
    count: sql`SELECT count(DISTINCT property) AS count ${matching}`,
  };
}

/** The progress of a project's catalogue, and the counts beyond its rows. */
export type Progress = {
  counted_until: string | null;
  is_counting: boolean;
  other_events: number;
  other_values: number;
  /** Events with the name, or all events. */
  events: number;
};

/** Returns the progress of the catalogue; `events` counts one name if it is given. */
export async function findProgress(
  db: Queryable,
  { team_id, event }: { team_id: number; event?: string | undefined },
): Promise<Progress> {
  const row = await db.row<Progress>(sql`
    SELECT nullif(c.counted_until, 'epoch') AS counted_until,
      coalesce(s.last_inserted_at >= coalesce(c.counted_until, 'epoch'), false) AS is_counting,
      coalesce(c.other_events, 0) AS other_events, coalesce(c.other_values, 0) AS other_values,
      coalesce((SELECT sum(events) FROM event_catalogue WHERE team_id = p.id
        ${named(sql`event`, event === undefined ? {} : { event })}), 0)::bigint
        + ${event === undefined ? sql`coalesce(c.other_events, 0)` : sql`0`} AS events
    FROM projects p LEFT JOIN event_catalogue_states c ON c.team_id = p.id
      LEFT JOIN ingestion_states s ON s.team_id = p.id
    WHERE p.id = ${team_id}`);
  return (
    row ?? { counted_until: null, is_counting: false, other_events: 0, other_values: 0, events: 0 }
  );
}
