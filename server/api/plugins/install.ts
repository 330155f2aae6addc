import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { followSchema } from '../../engine/plugins/follow_schema.ts';
import { serviceFault } from '../../engine/plugins/prepare.ts';
import type { PreparedPlugin } from '../../engine/plugins/prepare.ts';
import { insertVersion, removeOldVersions } from '../../engine/plugins/versions.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Collection } from './collections.ts';
import { isRunAnywhere, updatePlugin } from './store.ts';
import type { PluginFields } from './store.ts';

/** The installation; `version_id` is the current version, null for the first. */
type Installing = {
  id: number;
  version_id: string | null;
  prepared: PreparedPlugin;
  latest_tag: string | null;
};

/**
 * Makes prepared code the plugin's version, under the caller's lock. The current version becomes
 * the target of a rollback, and the package sets the fields of the record. Returns how many enabled
 * configs now lack a setting.
 */
export async function putInstalled(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  { id, version_id, prepared, latest_tag }: Installing,
): Promise<number> {
  const created = await insertVersion(tx, deps.secrets, id, prepared, request.caller.user_id);
  const fields = { ...fieldsOfPackage(prepared), tag: prepared.tag, latest_tag };
  await updatePlugin(tx, id, { ...fields, version_id: created, previous_version_id: version_id });
  await removeOldVersions(tx, id);
  return prepared.manifest === null
    ? 0
    : followSchema(tx, deps.secrets, id, prepared.manifest.config_schema);
}

/**
 * Returns why code cannot replace code that some project has enabled, as a sentence; undefined if
 * it can.
 */
export async function idleFault(
  tx: Transaction,
  id: number,
  collection: Collection,
  prepared: PreparedPlugin,
): Promise<string | undefined> {
  const fault = serviceFault(collection.name, prepared);
  return fault === undefined || !(await isRunAnywhere(tx, id))
    ? undefined
    : `A project has this plugin enabled. ${fault}`;
}

/**
 * Returns the record's fields that a package defines; without a plugin.json only the fields that
 * its code defines.
 */
export function fieldsOfPackage({
  manifest,
  capabilities,
  metrics,
  public_jobs,
}: PreparedPlugin): PluginFields {
  const told = { capabilities, metrics, public_jobs };
  if (manifest === null) return told;
  return {
    ...told,
    name: manifest.name,
    description: manifest.description,
    icon: manifest.icon,
    config_schema: manifest.config_schema,
  };
}
