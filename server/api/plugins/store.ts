import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { PluginCollection } from '../../engine/plugins/plugin.ts';
import { run_config_schema } from '../../engine/plugins/run_version.ts';
import type { Access } from '../../platform/http/caller/access.ts';
import { forbidden, missing } from '../../platform/http/errors.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import { pluginsLevelFault } from './schema.ts';
import type { PluginPatch, PluginRow } from './schema.ts';

/** The place of a request: one collection, for one organization. */
export type Place = { organization_id: string; collection: PluginCollection };

/**
 * Selects the fields of plugin `p` of organization `o` in answers; `said` has the fields that its
 * versions have too.
 */
const columnsWith = (config_schema: Sql, said: (name: string) => Sql) => sql`
  p.id, p.plugin_type, p.name, p.description, p.icon, ${config_schema} AS config_schema,
    ${said('tag')}, p.is_global, ${said('capabilities')}, ${said('metrics')},
    ${said('public_jobs')}, p.url, p.latest_tag,
  p.organization_id, o.name AS organization_name,
  ${managedBy('plugin', sql`p.id`)} AS managed_by`;
const columns = columnsWith(sql`p.config_schema`, (name) => raw(`p.${name}`));
/**
 * The plugin `p` of organization `o` in the version of config `c`, as JSON in its wire form; `a` is
 * the accepted version, all null if there is none.
 */
export const configuredPluginJson = sql`(SELECT to_json(info) FROM (SELECT ${columnsWith(
  run_config_schema,
  (name) => raw(`CASE WHEN a.id IS NULL THEN p.${name} ELSE a.${name} END AS ${name}`),
)}) info)`;

const source = sql`FROM plugins p JOIN organizations o ON o.id = p.organization_id`;

/** Enabled configs of plugin `p` in all organizations. */
const enabled = sql`SELECT 1 FROM plugin_configs c WHERE c.plugin_id = p.id AND c.enabled`;

/**
 * The condition for plugins that the organization can use: its own, global ones, and formerly
 * global ones that one of its projects still uses.
 */
function isVisible(organization_id: string): Sql {
  return sql`(p.organization_id = ${organization_id}::uuid OR p.is_global OR EXISTS (
    SELECT 1 FROM plugin_configs c JOIN projects t ON t.id = c.team_id WHERE c.plugin_id = p.id
      AND t.organization_id = ${organization_id}::uuid))`;
}

const isInPlace = ({ organization_id, collection }: Place) =>
  sql`p.collection = ${collection} AND ${isVisible(organization_id)}`;

/** Lists a place's plugins, newest first. */
export function listPlugins(place: Place): List {
  return {
    rows: (page) => sql`SELECT ${columns} ${source} WHERE ${isInPlace(place)} ORDER BY p.id DESC
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM plugins p WHERE ${isInPlace(place)}`,
  };
}

const isUnused = ({ organization_id, collection }: Place) =>
  sql`p.collection = ${collection} AND p.organization_id = ${organization_id}::uuid
    AND NOT EXISTS (${enabled})`;

/**
 * Lists the organization's own plugins in the collection that no project of the server has enabled,
 * newest first.
 */
export function listUnusedPlugins(place: Place): List {
  return {
    rows: (page) => sql`SELECT ${columns} ${source} WHERE ${isUnused(place)} ORDER BY p.id DESC
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM plugins p WHERE ${isUnused(place)}`,
  };
}

/** Returns the plugin for the organization in the collection. */
export function findPlugin(
  db: Queryable,
  place: Place,
  id: number,
): Promise<PluginRow | undefined> {
  return db.row<PluginRow>(
    sql`SELECT ${columns} ${source} WHERE p.id = ${id} AND ${isInPlace(place)}`,
  );
}

/**
 * Returns the plugin for the organization in any collection; with `share`, nobody can change or
 * delete it until the transaction ends.
 */
export function findVisiblePlugin(
  db: Queryable,
  organization_id: string,
  id: number,
  share?: 'share',
): Promise<(PluginRow & { collection: PluginCollection; version_id: string | null }) | undefined> {
  return db.row(sql`
    SELECT ${columns}, p.collection, p.version_id ${source} WHERE p.id = ${id}
      AND ${isVisible(organization_id)} ${locking(share, 'FOR SHARE OF p')}`);
}

/** Hidden fields of a plugin's row. */
export type HiddenPlugin = {
  origin: Buffer | null;
  version_id: string | null;
  previous_version_id: string | null;
};

/**
 * Returns the hidden fields of the row; with `lock`, nobody else can change, delete or enable the
 * plugin until the transaction ends.
 */
export function findHiddenPlugin(
  db: Queryable,
  id: number,
  lock?: 'lock',
): Promise<HiddenPlugin | undefined> {
  return db.row<HiddenPlugin>(
    sql`SELECT p.origin, p.version_id, p.previous_version_id FROM plugins p
      WHERE p.id = ${id} ${locking(lock, 'FOR UPDATE')}`,
  );
}

/** Returns true if `rollback/` has an earlier version. */
export async function hasPreviousVersion(db: Queryable, id: number): Promise<boolean> {
  const { previous_version_id = null } = (await findHiddenPlugin(db, id)) ?? {};
  return previous_version_id !== null;
}

/** Returns the context that seals the origin of a plugin. */
export function pluginOriginContext(plugin_id: number): string {
  return `plugins:${plugin_id}:origin`;
}

/**
 * The settings of a plugin, its sealed origin, and its files if they are written through the API.
 */
export type PluginSettings = Pick<
  PluginRow,
  'id' | 'name' | 'description' | 'icon' | 'tag' | 'config_schema'
> & {
  collection: PluginCollection;
  plugin_type: string;
  is_global: boolean;
  origin: Buffer | null;
  source: Record<string, string> | null;
  content_sha256: string | null;
};

/** Returns the SHA-256 of the files of the current version; undefined without code. */
export function findContent(
  db: Queryable,
  id: number,
): Promise<{ content_sha256: string } | undefined> {
  return db.row(sql`SELECT v.content_sha256 FROM plugins p
    JOIN plugin_versions v ON v.id = p.version_id WHERE p.id = ${id}`);
}

/** Lists the settings of the organization's own plugins, oldest first. */
export function listPluginSettings(
  db: Queryable,
  organization_id: string,
): Promise<PluginSettings[]> {
  return db.rows<PluginSettings>(sql`
    SELECT p.id, p.name, p.description, p.icon, p.tag, p.config_schema, p.collection,
      p.plugin_type, p.is_global, p.origin,
      CASE WHEN p.origin IS NULL THEN v.files END AS source, v.content_sha256
    FROM plugins p LEFT JOIN plugin_versions v ON v.id = p.version_id
    WHERE p.organization_id = ${organization_id}::uuid ORDER BY p.id`);
}

/** The changeable fields of a plugin, as sent. */
export type PluginFields = PluginPatch & { latest_tag?: string | null };

/**
 * Creates a plugin and returns its id; undefined if the organization has its `url`. Waits for
 * another transaction that is creating the same plugin. A taken one raises no error, which would
 * abort the transaction.
 */
export async function insertPlugin(
  tx: Transaction,
  place: Place,
  row: { plugin_type: string; url: string | null; created_by: number | null },
): Promise<number | undefined> {
  const created = await tx.row<{ id: number }>(sql`
    INSERT INTO plugins (organization_id, collection, plugin_type, url, created_by)
    VALUES (${place.organization_id}::uuid, ${place.collection}, ${row.plugin_type}, ${row.url},
      ${row.created_by})
    ON CONFLICT (organization_id, url) WHERE url IS NOT NULL DO NOTHING RETURNING id`);
  return created?.id;
}

/**
 * Applies the sent fields; without one, `updated_at` stays unchanged. The caller holds the lock.
 */
export async function updatePlugin(
  tx: Transaction,
  id: number,
  fields: PluginFields & Partial<HiddenPlugin>,
): Promise<void> {
  if (Object.keys(fields).length === 0) return;
  const json = ['config_schema', 'capabilities', 'metrics', 'public_jobs'];
  const values = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      json.includes(name) ? JSON.stringify(value) : value,
    ]),
  );
  await tx.run(sql`UPDATE plugins SET ${assignments(values)}, updated_at = now() WHERE id = ${id}`);
}

/** Stores the newest version that the origin reports (null: it reports none). */
export async function updateLatestTag(
  db: Queryable,
  id: number,
  latest_tag: string | null,
): Promise<void> {
  await db.run(
    sql`UPDATE plugins SET latest_tag = coalesce(${latest_tag}, latest_tag),
      latest_tag_checked_at = now() WHERE id = ${id}`,
  );
}

/** Deletes the plugin and by cascade its versions and configs. */
export async function deletePlugin(tx: Transaction, id: number): Promise<void> {
  await tx.run(sql`DELETE FROM plugins WHERE id = ${id}`);
}

/** Returns true if a project of another organization has a config of the plugin. */
export async function isUsedElsewhere(
  tx: Transaction,
  id: number,
  organization_id: string,
): Promise<boolean> {
  const other = await tx.row(sql`
    SELECT 1 FROM plugin_configs c JOIN projects t ON t.id = c.team_id WHERE c.plugin_id = ${id}
      AND t.organization_id <> ${organization_id}::uuid LIMIT 1`);
  return other !== undefined;
}

/**
 * Returns true if some project has the plugin enabled in its current version; projects of other
 * organizations run the version that they accepted.
 */
export async function isRunAnywhere(tx: Transaction, id: number): Promise<boolean> {
  return (
    (await tx.row(
      sql`SELECT 1 FROM plugin_configs c WHERE c.plugin_id = ${id} AND c.enabled
        AND c.accepted_version_id IS NULL LIMIT 1`,
    )) !== undefined
  );
}

/**
 * Throws 403 if the organization's `plugins_access_level` does not suffice. Call it before any
 * check that reveals whether a record exists.
 */
export async function requirePluginsLevel(
  db: Queryable,
  { organization_id }: Pick<Access, 'organization_id'>,
  wanted: 3 | 6 | 9,
): Promise<void> {
  const row = await db.row<{ level: number }>(
    sql`SELECT plugins_access_level AS level FROM organizations
      WHERE id = ${organization_id}::uuid`,
  );
  const fault = pluginsLevelFault((row ?? missing()).level, wanted);
  if (fault !== undefined) throw forbidden(fault);
}

/** Lists the tools for which the organization has an OAuth application. */
export async function listRegisteredTools(
  db: Queryable,
  organization_id: string,
): Promise<Set<string>> {
  const rows = await db.rows<{ tool: string }>(
    sql`SELECT tool FROM oauth_applications WHERE organization_id = ${organization_id}::uuid`,
  );
  return new Set(rows.map(({ tool }) => tool));
}
