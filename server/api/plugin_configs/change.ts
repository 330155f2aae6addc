import { isDeepStrictEqual } from 'node:util';
import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { PluginError } from '../../engine/plugins/plugin.ts';
import type { PluginCollection } from '../../engine/plugins/plugin.ts';
import { serviceFault } from '../../engine/plugins/prepare.ts';
import { loadPluginConfig, storePluginConfig } from '../../engine/plugins/stored_config.ts';
import { fieldsOf } from '../../engine/plugins/config_schema.ts';
import { filterFault } from '../../engine/plugins/tools/filter/filter_fault.ts';
import { soundMappings } from '../../engine/plugins/tools/mappings.ts';
import type { EventChoice } from '../../engine/plugins/tools/wanted.ts';
import { refuseConnection } from '../../engine/plugins/oauth/connection.ts';
import { mappings_key } from '../../engine/plugins/tools/settings.ts';
import { toolOf } from '../../engine/plugins/tools/tool.ts';
import { loadConfigVersion } from '../../engine/plugins/versions.ts';
import { secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { invalid, invalidMany } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVisiblePlugin } from '../plugins/store.ts';
import type { PluginConfigCreate, PluginConfigPatch, PluginConfigRow } from './schema.ts';
import {
  changedSettings,
  movedSettings,
  movesPlace,
  sealedNames,
  settingsFaults,
} from './settings.ts';
import type { HowToChange, Settings } from './settings.ts';
import { findStoredConfig, insertPluginConfig, startCursor, updatePluginConfig } from './store.ts';
import type { PluginConfigFields } from './store.ts';

/**
 * Creates a config for a plugin that the organization can use, and returns its id. Throws 400 for
 * an unknown plugin and for invalid values.
 */
export async function createConfig(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  { plugin, ...sent }: Static<typeof PluginConfigCreate>,
): Promise<number> {
  const { organization_id, team_id } = request.access;
  const info = await findVisiblePlugin(tx, organization_id, plugin, 'share');
  if (info === undefined)
    throw invalid('plugin', 'invalid_input', 'The organization has no plugin with this id.');
  const id = await insertPluginConfig(tx, {
    team_id: team_id!,
    plugin_id: plugin,
    created_by: request.caller.user_id,
  });
  const before = {
    id,
    plugin,
    plugin_info: info,
    enabled: false,
    allowed_hosts: [],
    collection: info.collection,
  };
  await applyChange(tx, deps, before, { config: {}, ...sent }, 'replace');
  return id;
}

/**
 * Changes a config under the caller's locks, and returns the keys of changed values. Throws 400 for
 * invalid values, for a change that would send a stored secret to another place, and for enabling a
 * plugin that cannot run.
 */
export async function changeConfig(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  before: PluginConfigRow,
  sent: PluginConfigPatch,
  how: HowToChange,
): Promise<string[]> {
  const { collection } = (await findVisiblePlugin(
    tx,
    request.access.organization_id,
    before.plugin,
  ))!;
  return applyChange(tx, deps, { ...before, collection }, sent, how);
}

type Before = Pick<
  PluginConfigRow,
  'id' | 'plugin' | 'plugin_info' | 'enabled' | 'allowed_hosts'
> & {
  collection: PluginCollection;
};

async function applyChange(
  tx: Transaction,
  deps: Deps,
  before: Before,
  { config: sent, allowed_hosts, ...fields }: PluginConfigPatch,
  how: HowToChange,
): Promise<string[]> {
  const { config_schema } = before.plugin_info;
  const stored = (await findStoredConfig(tx, before.id))!;
  if (fields.event_choice) requireChoice(before, fields.event_choice);
  const enabled = fields.enabled ?? before.enabled;
  const isEnabling = enabled && !before.enabled;
  const settings = loadPluginConfig(deps.secrets, before.id, stored);
  const next =
    sent === undefined && !isEnabling
      ? undefined
      : changedSettings(
          config_schema,
          settings,
          stored.secret_keys,
          sent ?? {},
          sent === undefined ? 'merge' : how,
        );
  const hosts =
    allowed_hosts === undefined
      ? before.allowed_hosts
      : [...new Set(allowed_hosts.map((host) => host.toLowerCase()))];
  const sealed = sealedNames(config_schema, stored.secret_keys);
  const reached = { settings, allowed_hosts: before.allowed_hosts };
  const reaches = { settings: next ?? settings, allowed_hosts: hosts };
  const faults = [
    ...(next === undefined ? [] : settingsFaults(config_schema, next, enabled)),
    ...movedSettings(config_schema, reached, reaches, { secret_keys: sealed, sent: sent ?? {} }),
  ];
  if (faults.length > 0) throw invalidMany(faults);
  const unmapped =
    next !== undefined && enabled ? await mappingsFault(tx, deps, before.id, next) : undefined;
  if (unmapped !== undefined) throw invalid(`config__${mappings_key}`, 'invalid_input', unmapped);
  const unready = isEnabling ? await unreadyFault(tx, deps, before) : undefined;
  if (unready !== undefined)
    throw invalid('enabled', 'invalid_input', `The plugin cannot run. ${unready}`);
  const changes: PluginConfigFields = { ...fields };
  if (next !== undefined)
    Object.assign(changes, storePluginConfig(deps.secrets, before.id, next, sealed), {
      error: null,
      error_at: null,
    });
  if (allowed_hosts !== undefined) changes.allowed_hosts = hosts;
  // Enabling a plugin of another organization also fixes its version (migration 0056).
  await updatePluginConfig(tx, before.id, changes);
  if (movesPlace(config_schema, reached, reaches)) await refuseConnection(tx, before.id);
  if (isEnabling) await startCursor(tx, before.id);
  return Object.keys(next ?? {}).filter((key) => !isDeepStrictEqual(settings[key], next![key]));
}

/** Throws 400 for an invalid event choice, or one that the plugin does not support. */
function requireChoice(
  { collection, plugin_info: { config_schema } }: Before,
  { subscribe }: EventChoice,
): void {
  const isTool = fieldsOf(config_schema).some(({ key }) => key === mappings_key);
  if (collection !== 'pipeline_destinations' || isTool)
    throw invalid(
      'event_choice',
      'invalid_input',
      isTool
        ? 'The mappings of a tool decide which events it gets.'
        : 'Only a destination can have an event choice.',
    );
  const fault = filterFault(subscribe);
  if (fault !== undefined) throw invalid('event_choice__subscribe', 'invalid_input', fault);
}

/**
 * Returns the fault of a tool's mappings; undefined if they are valid, or the plugin is no tool.
 */
async function mappingsFault(
  tx: Transaction,
  { secrets }: Deps,
  id: number,
  settings: Settings,
): Promise<string | undefined> {
  if (!Object.hasOwn(settings, mappings_key)) return undefined;
  try {
    const tool = toolOf((await loadConfigVersion(tx, secrets, id)).files);
    const read = tool === undefined ? [] : soundMappings(settings[mappings_key], tool);
    return typeof read === 'string' ? read : undefined;
  } catch (error) {
    // Enabling the config reports code that cannot be loaded.
    if (error instanceof PluginError) return undefined;
    throw error;
  }
}

/**
 * Returns why the version of a config cannot run: no code, code that differs from the installed
 * one, or code that does not serve its collection. Undefined if it can.
 */
export async function unreadyFault(
  tx: Transaction,
  { secrets }: Deps,
  { id, collection }: Pick<Before, 'id' | 'collection'>,
): Promise<string | undefined> {
  try {
    return serviceFault(collection, await loadConfigVersion(tx, secrets, id));
  } catch (error) {
    if (error instanceof PluginError) return error.message;
    throw error;
  }
}

/** Returns the activity entry's lines for secret values: added, removed, or `changed`. */
export function secretChanges(
  before: readonly string[],
  after: readonly string[],
  changed: readonly string[],
): Change[] {
  const keys = [...new Set([...before, ...after])];
  return keys.flatMap((key) => {
    const [had, has] = [before.includes(key), after.includes(key)];
    if (had && has && !changed.includes(key)) return [];
    return [secretChange(`config.${key}`, had ? (has ? 'changed' : 'deleted') : 'created')];
  });
}
