import sql, { join, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { destinations } from '../../engine/destinations/index.ts';
import { liesIn } from '../../platform/http/caller/mount.ts';
import type { Place } from '../../platform/http/caller/mount.ts';
import type { Page } from '../../platform/http/lists/pagination.ts';

/** The condition that the export `e` is in the place and not deleted. */
export const isInPlace = (place: Place): Sql =>
  sql`e.deleted_at IS NULL AND ${liesIn(place, sql`e.team_id`)}`;

/** The interval of the next run of export `e` as JSON; null if there is none. */
export const next_run = sql`CASE WHEN NOT e.paused AND e.next_run_at IS NOT NULL
  THEN json_build_object('data_interval_start', wire_instant(e.planned_until),
    'data_interval_end', wire_instant(e.next_run_at)) END`;

const connection_keys = destinations.map(({ type, connection = [] }) =>
  raw(`WHEN '${type}' THEN '{${connection.join(',')}}'::text[]`),
);

/** The config of export `e` without the keys of its connection. */
export const own_config = sql`CASE WHEN e.connection_id IS NULL THEN e.destination_config
  ELSE e.destination_config
    - CASE e.destination_type ${join(connection_keys, ' ')} ELSE '{}' END END`;

/** The columns, order and filters of a page of exports `e`. */
type Wanted = {
  fields: Sql;
  joined: Sql;
  condition: Sql;
  order: Sql;
  /** The same order by the fields. */
  order_of_fields: Sql;
};

/**
 * Selects one page of the exports of a place. Reads each project apart, only as far as the page
 * needs. With an index in this order, the cost depends on the page, not on the number of exports.
 */
export function pageOfPlace(place: Place, wanted: Wanted, { limit, offset }: Page): Sql {
  const { fields, joined, condition, order, order_of_fields } = wanted;
  const ofProject = (id: Sql) => sql`SELECT ${fields} FROM batch_exports e ${joined}
    WHERE e.deleted_at IS NULL AND e.team_id = ${id} AND ${condition} ORDER BY ${order}`;
  if (place.team_id !== undefined)
    return sql`${ofProject(sql`${place.team_id}`)} LIMIT ${limit} OFFSET ${offset}`;
  return sql`SELECT e.* FROM projects p
    CROSS JOIN LATERAL (${ofProject(sql`p.id`)} LIMIT ${limit + offset}) e
    WHERE p.organization_id = ${place.organization_id}
    ORDER BY ${order_of_fields} LIMIT ${limit} OFFSET ${offset}`;
}

/** Counts the exports of a place, by batch_exports_by_project alone. */
export function countBatchExports(place: Place): Sql {
  const ofProject = (id: Sql) => sql`(SELECT count(*) FROM batch_exports e
    WHERE e.deleted_at IS NULL AND e.team_id = ${id})`;
  return place.team_id === undefined
    ? sql`SELECT coalesce(sum(${ofProject(sql`p.id`)}), 0)::bigint AS count FROM projects p
        WHERE p.organization_id = ${place.organization_id}`
    : sql`SELECT ${ofProject(sql`${place.team_id}`)} AS count`;
}
