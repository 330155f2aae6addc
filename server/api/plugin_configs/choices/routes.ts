import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { fieldsOf } from '../../../engine/plugins/config_schema.ts';
import { withTokens } from '../../../engine/plugins/oauth/tokens.ts';
import { findVendor } from '../../../engine/plugins/oauth/vendors.ts';
import { configFaults } from '../../../engine/plugins/packages/manifest.ts';
import { storableFault } from '../../../engine/plugins/packages/storable.ts';
import { settingsOf } from '../../../engine/plugins/running/loaded_config.ts';
import { loadPluginConfig } from '../../../engine/plugins/stored_config.ts';
import { mappings_key } from '../../../engine/plugins/tools/settings.ts';
import type { ToolDefinition, ToolField } from '../../../engine/plugins/tools/tool.ts';
import { askToolChoices } from '../../../engine/plugins/trial/tool_choices.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { invalid, invalidMany } from '../../../platform/http/errors.ts';
import { inTurn } from '../../../platform/http/limits/heavy_turns.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { addRoute } from '../../../platform/http/records.ts';
import { requirePluginsLevel } from '../../plugins/store.ts';
import { readTool } from '../preview/routes.ts';
import {
  changedSettings,
  movedSettings,
  movesPlace,
  sealedNames,
  settingsFaults,
} from '../settings.ts';
import { findPluginConfig, findStoredConfig } from '../store.ts';
import { PluginChoices, PluginChoicesBody } from './schema.ts';

const description =
  'Runs the code of the tool that asks its vendor, with these settings. `validate_only` asks ' +
  'nobody. Needs the plugins access level 3.';

/** Registers the route that asks a tool for the values of a field. */
export function choicesRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/projects/:project_id/plugin_configs/choices/',
    config: { within: 'project', scope: 'plugin:write', level: 8, no_store: true },
    summary: 'List the choices that a tool has for a field of a mapping',
    description,
    body: PluginChoicesBody,
    response: { 200: PluginChoices },
    handler: async (request) => {
      await requirePluginsLevel(deps.db, request.access, 3);
      await refuseAgentBeside(deps.db, request);
      return inTurn(request, () => choicesOf(deps, request, body(request, PluginChoicesBody)));
    },
  });
}

const nothing: PluginChoices = { choices: [], next_page: null, omitted: 0, error: null };

const without = (code: NonNullable<PluginChoices['error']>['code'], detail: string) => ({
  ...nothing,
  error: { code, detail, hosts: [] },
});

async function choicesOf(
  deps: Deps,
  request: FastifyRequest,
  sent: PluginChoicesBody,
): Promise<PluginChoices> {
  const { definition, config_schema } = await readTool(deps, request, sent.plugin);
  requireDynamic(definition, sent);
  const unstorable = storableFault(sent.mapping ?? {}, Infinity);
  if (unstorable !== undefined) throw invalid('mapping', 'invalid_input', `It ${unstorable}.`);
  const { settings, allowed_hosts, secret_keys, ...config } = await settingsFor(
    deps,
    request,
    config_schema,
    sent,
  );
  const fields = fieldsOf(config_schema);
  const missing = configFaults(fields, settings).filter(
    ({ attr, code }) => code === 'required' && attr !== mappings_key,
  );
  if (missing.length > 0)
    return without(
      'setting_missing',
      `The tool needs its settings first. ${missing.map(({ detail }) => detail).join(' ')}`,
    );
  const { directory } = definition;
  const isConnected = findVendor(directory)?.way === 'people';
  if (isConnected && (config.id === undefined || config.is_moved))
    return without(
      'not_ready',
      'The tool gives choices once it is connected. Save the settings and connect it first.',
    );
  if (isValidateOnly(request)) return nothing;
  const place = { config_id: config.id ?? 0, tool: directory };
  return askToolChoices(
    { ...deps, withTokens: (call, hide) => withTokens({ ...deps, hide }, place, call) },
    {
      definition,
      config: settingsOf(fields, settings).config,
      secrets: [...sealedNames(config_schema, secret_keys)].map((key) => settings[key]),
      allowed_hosts,
      action: sent.action,
      field: sent.field,
      mapping: sent.mapping ?? {},
      page: sent.page ?? null,
    },
  );
}

/** Throws 400 for a field that the tool has no choices for. */
function requireDynamic({ actions }: ToolDefinition, { action, field }: PluginChoicesBody): void {
  if (!Object.hasOwn(actions, action))
    throw invalid('action', 'invalid_choice', `The tool has no action ${action}.`);
  const [name = '', ...parts] = field.split('.').filter((part) => !part.startsWith('['));
  const of = fieldNamed(actions[action]!.fields, name);
  const wanted = parts.length === 0 || parts[0] === '__keys__';
  const found = wanted ? of : fieldNamed(of?.properties ?? {}, parts[0]!);
  if (found?.dynamic !== true)
    throw invalid('field', 'invalid_choice', `The tool has no choices for ${field}.`);
}

function fieldNamed(fields: Record<string, ToolField>, name: string): ToolField | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The settings that the tool gets: sent ones over those of the config, if one is named. */
async function settingsFor(
  { db, secrets }: Deps,
  request: FastifyRequest,
  config_schema: unknown,
  { plugin, plugin_config: id, config: sent = {}, allowed_hosts: hosts }: PluginChoicesBody,
) {
  const row =
    id === undefined ? undefined : await findPluginConfig(db, request.access.team_id!, id);
  const stored = row?.plugin === plugin ? await findStoredConfig(db, row.id) : undefined;
  if (id !== undefined && stored === undefined)
    throw invalid('plugin_config', 'invalid_input', 'The tool has no config with this id here.');
  const secret_keys = stored?.secret_keys ?? [];
  const before = {
    settings: stored === undefined ? {} : loadPluginConfig(secrets, id!, stored),
    allowed_hosts: row?.allowed_hosts ?? [],
  };
  const settings = changedSettings(config_schema, before.settings, secret_keys, sent, 'merge');
  const allowed_hosts = hosts?.map((host) => host.toLowerCase()) ?? before.allowed_hosts;
  const after = { settings, allowed_hosts };
  const is_moved = stored !== undefined && movesPlace(config_schema, before, after);
  const faults = [
    ...settingsFaults(config_schema, settings, false),
    ...(stored === undefined
      ? []
      : movedSettings(config_schema, before, after, { secret_keys, sent })),
  ];
  if (faults.length > 0) throw invalidMany(faults);
  return { id, ...after, secret_keys, is_moved };
}
