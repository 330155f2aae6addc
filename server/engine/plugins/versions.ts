import { hash, timingSafeEqual } from 'node:crypto';
import sql, { raw } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { contentSha256 } from './packages/content.ts';
import { PluginError } from './plugin.ts';
import type { PluginFiles } from './plugin.ts';
import type { PreparedPlugin } from './prepare.ts';
import { run_version_id } from './run_version.ts';

/** A version of a plugin's code as it was installed. */
export type PluginVersion = PreparedPlugin & { id: string; plugin_id: number };

/** One of the two stored versions: the running one, or the one that a rollback restores. */
type WhichVersion = 'version_id' | 'previous_version_id';

/** The stored row; JSON stays text, because the seal covers the text. */
type Row = Texts & {
  id: string;
  plugin_id: number;
  content_sha256: string;
  code_sha256: string;
  seal: Buffer;
};
type Texts = {
  tag: string | null;
  files: string;
  manifest: string | null;
  code: string;
  capabilities: string;
  metrics: string;
  public_jobs: string;
};

/** Stores a version under its seal and returns its id. It runs once the plugin's row names it. */
export async function insertVersion(
  tx: Transaction,
  secrets: Secrets,
  plugin_id: number,
  prepared: PreparedPlugin,
  installed_by: number | null,
): Promise<string> {
  const texts: Texts = {
    tag: prepared.tag,
    files: JSON.stringify(prepared.files),
    manifest: prepared.manifest === null ? null : JSON.stringify(prepared.manifest),
    code: JSON.stringify(prepared.code),
    capabilities: JSON.stringify(prepared.capabilities),
    metrics: JSON.stringify(prepared.metrics),
    public_jobs: JSON.stringify(prepared.public_jobs),
  };
  const row = {
    ...texts,
    id: uuidv7(),
    plugin_id,
    content_sha256: prepared.content_sha256,
    code_sha256: hash('sha256', texts.code),
  };
  await tx.run(sql`
    INSERT INTO plugin_versions (id, plugin_id, tag, files, content_sha256, manifest, code,
      code_sha256, capabilities, metrics, public_jobs, seal, installed_by)
    VALUES (${row.id}, ${plugin_id}, ${row.tag}, ${row.files}::json, ${row.content_sha256},
      ${row.manifest}::json, ${row.code}::json, ${row.code_sha256},
      ${row.capabilities}::json, ${row.metrics}::json, ${row.public_jobs}::json,
        ${sealOf(secrets, row)}, ${installed_by})`);
  return row.id;
}

/**
 * Removes old versions: neither the plugin's present one, nor the previous one, nor one that a
 * config of another organization runs.
 */
export async function removeOldVersions(tx: Transaction, plugin_id: number): Promise<void> {
  await tx.run(sql`
    DELETE FROM plugin_versions v USING plugins p
    WHERE p.id = ${plugin_id} AND v.plugin_id = p.id AND v.id IS DISTINCT FROM p.version_id
      AND v.id IS DISTINCT FROM p.previous_version_id
      AND NOT EXISTS (SELECT 1 FROM plugin_configs c WHERE c.accepted_version_id = v.id)`);
}

/**
 * Loads the version to use. Guarantee: files, compiled code and description match the installed
 * ones to the byte; a row that was changed, swapped or copied from elsewhere throws
 * PluginError('refused'). Throws PluginError('not_found') for a plugin without code.
 */
export async function loadVersion(
  db: Queryable,
  secrets: Secrets,
  plugin_id: number,
  which: WhichVersion = 'version_id',
): Promise<PluginVersion> {
  return checkedVersion(secrets, plugin_id, await findRow(db, plugin_id, which));
}

/** Loads the version that a config runs, with the guarantee of `loadVersion`. */
export async function loadConfigVersion(
  db: Queryable,
  secrets: Secrets,
  config_id: number,
): Promise<PluginVersion> {
  const row = await db.row<Row & { of_plugin_id: number }>(sql`
    SELECT ${columns}, p.id AS of_plugin_id FROM plugin_configs c
      JOIN plugins p ON p.id = c.plugin_id JOIN plugin_versions v ON v.id = ${run_version_id}
    WHERE c.id = ${config_id}`);
  return checkedVersion(secrets, row?.of_plugin_id ?? 0, row);
}

function checkedVersion(secrets: Secrets, plugin_id: number, row: Row | undefined): PluginVersion {
  if (row === undefined)
    throw new PluginError('not_found', 'The plugin has no code yet: send its source first.');
  const version = versionOf(row);
  if (!isWhole(secrets, plugin_id, row, version))
    throw new PluginError(
      'refused',
      'The stored code differs from the installed code, so it is not loaded: install it again, ' +
        'or send its source again.',
    );
  return version;
}

/**
 * Finds the stored present version, only for a comparison and never to run it; `is_whole`: it
 * matches the installed one. Undefined if there is none.
 */
export async function findVersion(
  db: Queryable,
  secrets: Secrets,
  plugin_id: number,
): Promise<(PluginVersion & { is_whole: boolean }) | undefined> {
  const row = await findRow(db, plugin_id, 'version_id');
  if (row === undefined) return undefined;
  const version = versionOf(row);
  return { ...version, is_whole: isWhole(secrets, plugin_id, row, version) };
}

function isWhole(secrets: Secrets, plugin_id: number, row: Row, { files }: PluginVersion): boolean {
  return (
    row.plugin_id === plugin_id &&
    timingSafeEqual(sealOf(secrets, row), sealBytes(row.seal)) &&
    hash('sha256', row.code) === row.code_sha256 &&
    contentSha256(files) === row.content_sha256
  );
}

const columns = sql`
  v.id, v.plugin_id, v.tag, v.files::text AS files, v.content_sha256,
    v.manifest::text AS manifest, v.code::text AS code, v.code_sha256,
    v.capabilities::text AS capabilities, v.metrics::text AS metrics,
    v.public_jobs::text AS public_jobs, v.seal`;

function findRow(db: Queryable, plugin_id: number, which: WhichVersion): Promise<Row | undefined> {
  return db.row<Row>(sql`
    SELECT ${columns} FROM plugins p JOIN plugin_versions v ON v.id = p.${raw(which)}
    WHERE p.id = ${plugin_id}`);
}

function versionOf({
  id,
  plugin_id,
  tag,
  files,
  content_sha256,
  manifest,
  code,
  capabilities,
  metrics,
  public_jobs,
}: Row): PluginVersion {
  return {
    id,
    plugin_id,
    tag,
    content_sha256,
    files: filesOf(files),
    manifest: manifest === null ? null : (JSON.parse(manifest) as PluginVersion['manifest']),
    code: JSON.parse(code) as PluginVersion['code'],
    capabilities: JSON.parse(capabilities) as PluginVersion['capabilities'],
    metrics: JSON.parse(metrics) as PluginVersion['metrics'],
    public_jobs: JSON.parse(public_jobs) as PluginVersion['public_jobs'],
  };
}

/** A value that is no object of texts contains no files. */
function filesOf(text: string): PluginFiles {
  const files: unknown = JSON.parse(text);
  const isFiles =
    typeof files === 'object' &&
    files !== null &&
    Object.values(files).every((file) => typeof file === 'string');
  return isFiles ? (files as PluginFiles) : {};
}

function sealOf(secrets: Secrets, row: Omit<Row, 'seal'>): Buffer {
  const said = [
    row.id,
    row.plugin_id,
    row.tag,
    row.content_sha256,
    row.code_sha256,
    row.manifest,
    row.capabilities,
    row.metrics,
    row.public_jobs,
  ];
  return secrets.hash(`plugin version ${JSON.stringify(said)}`);
}

/** Pads or cuts to the length of a seal, whatever the row contains. */
function sealBytes(seal: Buffer): Buffer {
  return Buffer.concat([seal, Buffer.alloc(32)]).subarray(0, 32);
}
