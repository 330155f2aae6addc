import sql from 'sql-template-tag';

/**
 * SQL for the version that config `c` of plugin `p` runs: for another organization's plugin, the
 * version accepted for it (migration 0056); for an own plugin, the present version.
 */
export const run_version_id = sql`coalesce(c.accepted_version_id, p.version_id)`;

/** SQL for the fields of that version's settings, of config `c` of plugin `p`. */
export const run_config_schema = sql`CASE WHEN c.accepted_version_id IS NULL
  THEN p.config_schema ELSE c.accepted_config_schema END`;

/** SQL for the last change of the settings or code that config `c` of plugin `p` runs with. */
export const run_changed_at = sql`greatest(c.updated_at,
  CASE WHEN c.accepted_version_id IS NULL THEN p.updated_at END)`;
