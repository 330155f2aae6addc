import sql from 'sql-template-tag';

/**
 * The version that config `c` of plugin `p` runs: one of another organization's plugin runs the
 * version that was accepted for it (migration 0056), one of an own plugin the present version.
 */
export const run_version_id = sql`coalesce(c.accepted_version_id, p.version_id)`;

/** The fields of the settings of that version, of config `c` of plugin `p`. */
export const run_config_schema = sql`CASE WHEN c.accepted_version_id IS NULL
  THEN p.config_schema ELSE c.accepted_config_schema END`;

/** When settings or code that config `c` of plugin `p` runs with last changed. */
export const run_changed_at = sql`greatest(c.updated_at,
  CASE WHEN c.accepted_version_id IS NULL THEN p.updated_at END)`;
