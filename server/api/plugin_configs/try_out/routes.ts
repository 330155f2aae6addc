import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { checkPackage } from '../../../engine/plugins/packages/content.ts';
import { PluginError } from '../../../engine/plugins/plugin.ts';
import { pluginFault } from '../../../engine/plugins/plugin_fault.ts';
import { preparePlugin, serviceFault } from '../../../engine/plugins/prepare.ts';
import type { PreparedPlugin } from '../../../engine/plugins/prepare.ts';
import { tryPlugin } from '../../../engine/plugins/trial/trial.ts';
import type { TrialInput } from '../../../engine/plugins/trial/trial.ts';
import { readAside } from '../../../platform/http/bodies/aside.ts';
import { body, large_body_size_bytes_max } from '../../../platform/http/bodies/body.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { invalid, invalidMany } from '../../../platform/http/errors.ts';
import { inTurn } from '../../../platform/http/limits/heavy_turns.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { requirePluginsLevel } from '../../plugins/store.ts';
import { settingsFaults } from '../settings.ts';
import { PluginTryOut, PluginTryOutResult } from './schema.ts';
import { wantedEvent } from './wanted_event.ts';

const description =
  'Compiles the files and runs the plugin once in the sandbox, with the limits of a running ' +
  'plugin. Nothing is stored: not the files, the settings, captured events, jobs or values. The ' +
  'plugin sees the settings of the body alone, never stored secrets. A destination gets one ' +
  'event; an import app runs one task. A frontend app runs on web pages, and is only compiled. ' +
  'An error of the compiler is 400 on `source` with file, line and column; an error of the ' +
  'running code is in `calls`. With `validate_only` the files are compiled and checked, and ' +
  'nothing runs. Needs the plugins access level 6.';

/** Route that runs code that is not stored, once and without effects. */
export function tryOutRoute(app: FastifyInstance, deps: Deps): void {
  app.post(
    '/api/projects/:project_id/plugin_configs/try_out/',
    {
      bodyLimit: large_body_size_bytes_max,
      config: { within: 'project', scope: 'plugin:write', level: 8, no_store: true },
      schema: {
        summary: 'Try the code of a plugin with one event',
        description,
        body: PluginTryOut,
        response: { 200: PluginTryOutResult },
      },
    },
    async (request) => {
      await requirePluginsLevel(deps.db, request.access, 6);
      return inTurn(request, async () => {
        await readAside(request);
        return tryOut(deps, request, body(request, PluginTryOut));
      });
    },
  );
}

async function tryOut(
  deps: Deps,
  request: FastifyRequest,
  sent: PluginTryOut,
): Promise<PluginTryOutResult> {
  const prepared = await prepare(deps, sent);
  const { manifest, capabilities } = prepared;
  const seen = {
    name: manifest?.name ?? null,
    config_schema: manifest?.config_schema ?? [],
    scheduled_tasks: capabilities.scheduled_tasks,
  };
  if (isValidateOnly(request) || sent.collection === 'pipeline_frontend_apps')
    return { ...seen, ...nothing_done };
  const { config = {}, allowed_hosts = [], sends = false } = sent;
  const faults = settingsFaults(seen.config_schema, config, true);
  if (faults.length > 0) throw invalidMany(faults);
  const work = await workOf(deps, request.access.team_id!, sent, capabilities.scheduled_tasks);
  if (sends) await refuseAgentBeside(deps.db, request);
  const trial = await tryPlugin(deps, { prepared, config, allowed_hosts, work, sends });
  return { ...seen, event: 'event' in work ? { ...work.event } : null, ...trial };
}

const nothing_done: Omit<PluginTryOutResult, 'name' | 'config_schema' | 'scheduled_tasks'> = {
  event: null,
  calls: [],
  requests: [],
  refused_hosts: [],
  effects: [],
  logs: [],
  omitted: 0,
};

async function prepare(
  { sandbox }: Deps,
  { source, collection }: PluginTryOut,
): Promise<PreparedPlugin> {
  try {
    checkPackage(source, collection);
    const prepared = await preparePlugin(source, null, sandbox);
    const fault = serviceFault(collection, prepared);
    if (fault !== undefined) throw new PluginError('refused', fault);
    return prepared;
  } catch (error) {
    throw error instanceof PluginError ? invalidMany([pluginFault(error, 'source')]) : error;
  }
}

async function workOf(
  deps: Deps,
  team_id: number,
  { collection, task, event_uuid, event }: PluginTryOut,
  tasks: string[],
): Promise<TrialInput['work']> {
  const wanted = task ?? (collection === 'pipeline_import_apps' ? tasks[0] : undefined);
  if (wanted !== undefined) {
    if (tasks.includes(wanted)) return { task: wanted };
    throw invalid('task', 'invalid_choice', `The code has no scheduled task ${wanted}.`);
  }
  return { event: await wantedEvent(deps, team_id, { event_uuid, event }) };
}
