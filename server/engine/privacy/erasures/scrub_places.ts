import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { project_tables } from '../../model/removals/vacuum.ts';
import type { ErasureCounts } from './erasure.ts';

/** A text of the control store that may name somebody, and the key of its row. */
export type PlaceText = { id: number | string; key: string; text: string };

/**
 * A place in the control store that may name persons: a query for the texts of a project, and the
 * treatment of matches. `counted` is their name in the counts.
 */
export type ScrubPlace = {
  counted?: keyof ErasureCounts;
  texts: Sql;
  scrub?: (named: PlaceText[]) => Sql;
};

const unscrubbed = ['batch_export_backfills', 'erased_ids', 'plugin_storage', 'projects'];
/** The tables that `scrubPlaces` changes, and those of warnings and refused events. */
export const scrubbed_tables = project_tables.filter((table) => !unscrubbed.includes(table));

const gone = 'This named a person who was erased.';
const idsOf = (named: PlaceText[]) => named.map(({ id }) => id);
const keysOf = (named: PlaceText[]) => named.map(({ key }) => key);

/** Returns all places of a project except warnings, which other fields than the text identify. */
export function scrubPlaces(team_id: number): ScrubPlace[] {
  return [...ofExports(team_id), ...ofCatalogue(team_id), ...ofPlugins(team_id)];
}

function ofExports(team_id: number): ScrubPlace[] {
  const ofProject = sql`batch_export_id IN (SELECT id FROM batch_exports
    WHERE team_id = ${team_id})`;
  return [
    {
      counted: 'log_lines',
      texts: sql`SELECT id, '' AS key, message AS text FROM batch_export_logs WHERE ${ofProject}`,
      scrub: (named) => sql`UPDATE batch_export_logs SET message = ${gone}
        WHERE id = ANY (${idsOf(named)}::bigint[])`,
    },
    {
      counted: 'log_lines',
      texts: sql`SELECT id, '' AS key, latest_error AS text FROM batch_export_runs
        WHERE team_id = ${team_id} AND latest_error IS NOT NULL`,
      scrub: (named) => sql`UPDATE batch_export_runs SET latest_error = ${gone}
        WHERE id = ANY (${idsOf(named)}::uuid[])`,
    },
    // Errors of runs, as users read them.
    {
      texts: sql`SELECT id, '' AS key, pause_reason ->> 'detail' AS text FROM batch_exports
        WHERE team_id = ${team_id} AND pause_reason IS NOT NULL`,
      scrub: (named) => sql`UPDATE batch_exports
        SET pause_reason = jsonb_set(pause_reason, '{detail}', to_jsonb(${gone}::text))
        WHERE id = ANY (${idsOf(named)}::uuid[]) AND pause_reason IS NOT NULL`,
    },
    {
      texts: sql`SELECT id, '' AS key, body AS text FROM notices WHERE ${ofProject}`,
      scrub: (named) => sql`UPDATE notices SET body = jsonb_set(jsonb_set(body::jsonb,
          '{data,run,latest_error}', to_jsonb(${gone}::text), false),
          '{data,detail}', to_jsonb(${gone}::text))::text
        WHERE id = ANY (${idsOf(named)}::uuid[])`,
    },
    // The bounds of slices between rows of one instant: an empty key identifies nobody. Readers of
    // shown deliveries do not use them.
    {
      texts: sql`SELECT run_id AS id, number::text AS key, concat_ws(' ', key_from, key_to) AS text
        FROM batch_export_slices WHERE coalesce(key_from, key_to) IS NOT NULL
          AND run_id IN (SELECT id FROM batch_export_runs WHERE team_id = ${team_id}
            AND status = 'Completed')`,
      scrub: (named) => sql`UPDATE batch_export_slices
        SET key_from = left(key_from, 0), key_to = left(key_to, 0)
        WHERE (run_id, number) IN (SELECT * FROM unnest(${idsOf(named)}::uuid[],
          ${keysOf(named).map(Number)}::integer[]))`,
    },
  ];
}

/** The names of events and properties seldom name a person. */
function ofCatalogue(team_id: number): ScrubPlace[] {
  const place = (table: string, name: 'event' | 'group_type' | 'property'): ScrubPlace => ({
    texts: sql`SELECT DISTINCT 0 AS id, ${raw(name)} AS key, ${raw(name)} AS text
      FROM ${raw(table)} WHERE team_id = ${team_id}`,
    scrub: (named) => sql`DELETE FROM ${raw(table)} WHERE team_id = ${team_id}
      AND ${raw(name)} = ANY (${keysOf(named)}::text[])`,
  });
  return [
    place('event_catalogue', 'event'),
    place('event_catalogue_days', 'event'),
    place('event_catalogue_groups', 'group_type'),
    place('event_catalogue_groups', 'property'),
    place('event_catalogue_properties', 'event'),
    place('event_catalogue_properties', 'property'),
  ];
}

function ofPlugins(team_id: number): ScrubPlace[] {
  const ofProject = sql`plugin_config_id IN (SELECT id FROM plugin_configs
    WHERE team_id = ${team_id})`;
  const values = (table: 'plugin_cache' | 'plugin_storage') =>
    sql`SELECT plugin_config_id AS id, key, key || value::text AS text FROM ${raw(table)}
      WHERE ${ofProject}`;
  return [
    {
      counted: 'log_lines',
      texts: sql`SELECT id, '' AS key, message AS text FROM plugin_logs WHERE ${ofProject}`,
      scrub: (named) => sql`UPDATE plugin_logs SET message = ${gone}
        WHERE id = ANY (${idsOf(named)}::bigint[])`,
    },
    {
      texts: sql`SELECT id, '' AS key, error AS text FROM plugin_configs
        WHERE team_id = ${team_id} AND error IS NOT NULL`,
      scrub: (named) => sql`UPDATE plugin_configs SET error = ${gone}
        WHERE id = ANY (${idsOf(named)}::integer[]) AND error IS NOT NULL`,
    },
    // No plugin may receive an erased event.
    {
      texts: sql`SELECT id, '' AS key, concat_ws(' ', distinct_id, reason) AS text
        FROM plugin_set_aside WHERE ${ofProject}`,
      scrub: (named) => sql`DELETE FROM plugin_set_aside
        WHERE id = ANY (${idsOf(named)}::bigint[])`,
    },
    {
      texts: sql`SELECT id, '' AS key, exchanges::text AS text
        FROM plugin_set_aside WHERE ${ofProject}`,
      scrub: (named) => sql`UPDATE plugin_set_aside SET exchanges = '[]'
        WHERE id = ANY (${idsOf(named)}::bigint[])`,
    },
    {
      texts: sql`SELECT plugin_config_id AS id, concat_ws(' ', event_uuid, mapping) AS key,
          concat_ws(' ', distinct_id, person_id, reason) AS text
        FROM plugin_waiting WHERE ${ofProject}`,
      scrub: (named) => sql`DELETE FROM plugin_waiting
        WHERE (plugin_config_id, concat_ws(' ', event_uuid, mapping)) IN (
          SELECT * FROM unnest(${idsOf(named)}::integer[], ${keysOf(named)}::text[]))`,
    },
    {
      counted: 'plugin_jobs',
      texts: sql`SELECT id, '' AS key, payload::text AS text FROM plugin_jobs WHERE ${ofProject}`,
      scrub: (named) => sql`DELETE FROM plugin_jobs WHERE id = ANY (${idsOf(named)}::uuid[])`,
    },
    {
      texts: values('plugin_cache'),
      scrub: (named) => sql`DELETE FROM plugin_cache WHERE (plugin_config_id, key) IN (
        SELECT * FROM unnest(${idsOf(named)}::integer[], ${keysOf(named)}::text[]))`,
    },
    // Only the plugin knows what its values mean.
    { counted: 'plugin_values', texts: values('plugin_storage') },
  ];
}
