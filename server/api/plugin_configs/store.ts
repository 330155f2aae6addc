import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { run_changed_at } from '../../engine/plugins/run_version.ts';
import { listOauthTools } from '../../engine/plugins/oauth/vendors.ts';
import type { StoredPluginConfig } from '../../engine/plugins/stored_config.ts';
import { toolUrl } from '../../engine/plugins/tools/catalogue.ts';
import type { EventChoice } from '../../engine/plugins/tools/wanted.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import { configuredPluginJson } from '../plugins/store.ts';
import type { PluginConfigRow, PluginJobRow, PluginLogQuery } from './schema.ts';

/** It waits for something, and nothing relevant has changed since. */
const isHeld = sql`c.enabled AND k.held_reason IS NOT NULL
  AND ${run_changed_at} <= k.updated_at`;

/** A version of a plugin as JSON, in its wire form. */
const versionJson = (version: Sql) => sql`json_build_object('tag', ${version}.tag,
  'content_sha256', ${version}.content_sha256, 'installed_at',
  wire_instant(${version}.installed_at))`;

/** Plugin `p` has newer code or settings than config `c` of another organization has accepted. */
const isWaiting = sql`c.accepted_version_id IS NOT NULL
  AND (p.version_id IS DISTINCT FROM c.accepted_version_id
    OR p.config_schema::text IS DISTINCT FROM c.accepted_config_schema::text)`;

const oauth_urls = listOauthTools().map(toolUrl);

/** Selects the fields of config `c` in answers. Each column is named, so no secret can slip in. */
const selectConfigs = sql`
  SELECT c.id, c.plugin_id AS plugin, ${configuredPluginJson} AS plugin_info, c.team_id,
    c.enabled, c."order", c.config, c.allowed_hosts, c.event_choice, c.secret_keys,
    coalesce(p.url = ANY (${oauth_urls}), false) AS uses_oauth,
    CASE WHEN c.error IS NOT NULL THEN json_build_object('message', c.error, 'at',
      wire_instant(c.error_at))
      WHEN ${isHeld} THEN json_build_object('message', k.held_reason, 'at',
        wire_instant(k.held_at)) END AS error,
    CASE WHEN a.id IS NOT NULL THEN ${versionJson(sql`a`)} END AS accepted_version,
    CASE WHEN ${isWaiting} THEN ${versionJson(sql`n`)} END AS waiting_version,
    c.created_at, c.updated_at,
    ${managedBy('plugin_config', sql`c.id`)} AS managed_by
  FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id JOIN organizations o
    ON o.id = p.organization_id
    LEFT JOIN plugin_versions a ON a.id = c.accepted_version_id
    LEFT JOIN plugin_versions n ON n.id = p.version_id
    LEFT JOIN plugin_cursors k ON k.plugin_config_id = c.id`;

/** Lists the project's configs, in order (ties by id). Uses plugin_configs_by_project. */
export function listPluginConfigs(team_id: number): List {
  return {
    rows: (page) => sql`${selectConfigs} WHERE c.team_id = ${team_id} ORDER BY c."order", c.id
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM plugin_configs c WHERE c.team_id = ${team_id}`,
  };
}

/** The settings of a config, with its sealed values. */
export type ConfigSettings = StoredPluginConfig &
  Pick<
    PluginConfigRow,
    'id' | 'plugin' | 'team_id' | 'enabled' | 'order' | 'allowed_hosts' | 'event_choice'
  > & {
    name: string | null;
  };

/** Lists the settings of all configs of an organization, oldest first. */
export function listConfigSettings(
  db: Queryable,
  organization_id: string,
): Promise<ConfigSettings[]> {
  return db.rows<ConfigSettings>(sql`
    SELECT c.id, c.plugin_id AS plugin, c.team_id, c.enabled, c."order", c.allowed_hosts, c.config,
      c.event_choice, c.config_secrets, c.secret_keys, p.name
    FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id JOIN projects t ON t.id = c.team_id
    WHERE t.organization_id = ${organization_id}::uuid ORDER BY c.id`);
}

/**
 * The condition for enabled configs of destinations in all projects of the organization, which
 * receive all events of their projects.
 */
const isExporting = (organization_id: string) => sql`
  c.enabled AND c.plugin_id IN (SELECT d.id FROM plugins d
    WHERE d.collection = 'pipeline_destinations')
  AND c.team_id IN (SELECT t.id FROM projects t
    WHERE t.organization_id = ${organization_id}::uuid)`;

/** Lists these configs, newest first. */
export function listExportingConfigs(organization_id: string): List {
  return {
    rows: (page) => sql`${selectConfigs} WHERE ${isExporting(organization_id)} ORDER BY c.id DESC
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM plugin_configs c
      WHERE ${isExporting(organization_id)}`,
  };
}

/** Returns the project's config in its wire form. */
export function findPluginConfig(
  db: Queryable,
  team_id: number,
  id: number,
): Promise<PluginConfigRow | undefined> {
  return db.row<PluginConfigRow>(
    sql`${selectConfigs} WHERE c.id = ${id} AND c.team_id = ${team_id}`,
  );
}

/**
 * Returns the stored settings; with `lock`, nobody else can change the config until the transaction
 * ends. The plugin is locked first (FOR SHARE), as in a change of the plugin.
 */
export function findStoredConfig(
  db: Queryable,
  id: number,
  lock?: 'lock',
): Promise<StoredPluginConfig | undefined> {
  return db.row<StoredPluginConfig>(
    sql`SELECT c.config, c.config_secrets, c.secret_keys FROM plugin_configs c
      WHERE c.id = ${id} ${locking(lock, 'FOR UPDATE')}`,
  );
}

/** Creates a disabled, empty config, and returns its id. */
export async function insertPluginConfig(
  tx: Transaction,
  row: { team_id: number; plugin_id: number; created_by: number | null },
): Promise<number> {
  const created = await tx.row<{ id: number }>(
    sql`INSERT INTO plugin_configs (team_id, plugin_id, created_by)
      VALUES (${row.team_id}, ${row.plugin_id}, ${row.created_by}) RETURNING id`,
  );
  return created!.id;
}

/** The stored fields of a config. */
export type PluginConfigFields = Partial<StoredPluginConfig> & {
  enabled?: boolean;
  order?: number;
  allowed_hosts?: string[];
  event_choice?: EventChoice | null;
  error?: null;
  error_at?: null;
};

/**
 * Applies the given fields; without one, `updated_at` stays unchanged. The caller holds the lock.
 */
export async function updatePluginConfig(
  tx: Transaction,
  id: number,
  { config, event_choice, ...fields }: PluginConfigFields,
): Promise<void> {
  const values = {
    ...fields,
    ...(config === undefined ? {} : { config: JSON.stringify(config) }),
    ...(event_choice === undefined
      ? {}
      : { event_choice: event_choice && JSON.stringify(event_choice) }),
  };
  if (Object.keys(values).length === 0) return;
  await tx.run(
    sql`UPDATE plugin_configs SET ${assignments(values)}, updated_at = now() WHERE id = ${id}`,
  );
}

/**
 * Lets the config run the plugin's current version and clears the error about missing settings;
 * returns the fields of its settings. The caller holds the locks.
 */
export async function acceptPresentVersion(
  tx: Transaction,
  id: number,
): Promise<{ config_schema: unknown }> {
  const accepted = await tx.row<{ config_schema: unknown }>(sql`
    UPDATE plugin_configs c SET accepted_version_id = p.version_id,
      accepted_config_schema = p.config_schema, updated_at = now(),
      error = CASE WHEN c.enabled THEN NULL ELSE c.error END,
      error_at = CASE WHEN c.enabled THEN NULL ELSE c.error_at END
    FROM plugins p WHERE c.id = ${id} AND p.id = c.plugin_id
    RETURNING c.accepted_config_schema AS config_schema`);
  return accepted!;
}

/**
 * Lets the config start with events ingested from now on. A config that the server stopped
 * continues at its position. A worker that still processes it loses its lease.
 */
export async function startCursor(tx: Transaction, id: number): Promise<void> {
  // Waiting events belong to the skipped time, except events of replays.
  await tx.run(sql`
    DELETE FROM plugin_waiting w USING plugin_cursors k WHERE w.plugin_config_id = ${id}
      AND k.plugin_config_id = ${id} AND k.stopped_at IS NULL AND NOT w.is_replay`);
  // The events before them are deleted.
  await tx.run(sql`UPDATE plugin_waiting SET next_try_at = now()
    WHERE plugin_config_id = ${id} AND next_try_at IS NULL`);
  // Events have times in whole milliseconds.
  await tx.run(sql`
    INSERT INTO plugin_cursors AS k (plugin_config_id, inserted_at, started_at)
      VALUES (${id}, date_trunc('milliseconds', now()), date_trunc('milliseconds', now()))
    ON CONFLICT (plugin_config_id) DO UPDATE SET
      started_at = CASE WHEN k.stopped_at IS NULL THEN excluded.started_at ELSE k.started_at END,
      inserted_at = CASE WHEN k.stopped_at IS NULL THEN excluded.inserted_at
        ELSE k.inserted_at END, event_uuid = CASE WHEN k.stopped_at IS NULL THEN NULL
        ELSE k.event_uuid END,
      begun_inserted_at = CASE WHEN k.stopped_at IS NULL THEN NULL
        ELSE k.begun_inserted_at END, begun_event_uuid = CASE WHEN k.stopped_at IS NULL THEN NULL
        ELSE k.begun_event_uuid END,
      failures = 0, work_failures = 0, retry_at = NULL, work_retry_at = NULL, stopped_at = NULL,
        leased_by = NULL, leased_until = NULL, updated_at = now()`);
}

/** Deletes the config and by cascade the plugin's storage and logs. */
export async function deletePluginConfig(tx: Transaction, id: number): Promise<void> {
  await tx.run(sql`DELETE FROM plugin_configs WHERE id = ${id}`);
}

/** Lists the metrics of the config's plugin, by name. */
export function listPluginMetrics(config_id: number): List {
  return listOf(
    sql`m.name, m.operation, m.value, m.updated_at`,
    sql`plugin_metrics m WHERE m.plugin_config_id = ${config_id}`,
    sql`m.name`,
  );
}

/** Returns a job that was stored in this transaction. */
export async function getPluginJob(tx: Transaction, id: string): Promise<PluginJobRow> {
  return (await tx.row<PluginJobRow>(
    sql`SELECT j.id, j.name, j.payload, j.created_at FROM plugin_jobs j WHERE j.id = ${id}::uuid`,
  ))!;
}

const isLogged = (config_id: number, { level, after, before }: PluginLogQuery) => sql`
  l.plugin_config_id = ${config_id} AND (${level ?? null}::text IS NULL
    OR l.level = ${level ?? null}::text)
  AND (${after ?? null}::timestamptz IS NULL OR l."timestamp" > ${after ?? null}::timestamptz)
  AND (${before ?? null}::timestamptz IS NULL OR l."timestamp" < ${before ?? null}::timestamptz)`;

/**
 * Lists the config's log lines, newest first. Ids grow with time, and plugin_logs_by_config has
 * their order.
 */
export function listPluginLogs(config_id: number, wanted: PluginLogQuery): List {
  return listOf(
    sql`l."timestamp", l.level, l.message`,
    sql`plugin_logs l WHERE ${isLogged(config_id, wanted)}`,
    sql`l.id DESC`,
  );
}
