import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addList, addRecord, addWrite } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import { acceptRoute } from './accept_route.ts';
import { createConfig, changeConfig, secretChanges } from './change.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { configEntry } from './entry.ts';
import { exportingRoutes } from './exporting_routes.ts';
import { runningRoutes } from './job_routes.ts';
import { revocationOf } from '../../engine/plugins/oauth/revoke.ts';
import { findTool } from '../../engine/plugins/tools/catalogue.ts';
import { removeOldVersions } from '../../engine/plugins/versions.ts';
import { requirePluginsLevel } from '../plugins/store.ts';
import { getConfig, getLockedConfig } from './found.ts';
import {
  PluginConfig,
  PluginConfigCreate,
  PluginConfigPatch,
  PluginLogEntry,
  PluginLogQuery,
} from './schema.ts';
import type { PluginConfigRow } from './schema.ts';
import { choicesRoute } from './choices/routes.ts';
import { previewRoute } from './preview/routes.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { tryOutRoute } from './try_out/routes.ts';
import { deletePluginConfig, listPluginConfigs, listPluginLogs } from './store.ts';

const base = '/api/projects/:project_id/plugin_configs/';
const one = `${base}:id/`;
const reading = { within: 'project', scope: 'plugin:read' } as const;
const changing = { within: 'project', scope: 'plugin:write', level: 8 } as const;

/**
 * Routes of `/api/projects/:project_id/plugin_configs/`: the plugins of a project. List, create,
 * retrieve, change, delete, logs, metrics, jobs, OAuth; and an organization's configs that receive
 * all events.
 */
export function pluginConfigRoutes(app: FastifyInstance, deps: Deps): void {
  readingRoutes(app, deps);
  makingRoute(app, deps);
  recordRoutes(app, deps);
  acceptRoute(app, deps);
  runningRoutes(app, deps);
  deliveryRoutes(app, deps);
  oauthRoutes(app, deps);
  tryOutRoute(app, deps);
  previewRoute(app, deps);
  choicesRoute(app, deps);
  exportingRoutes(app, deps);
}

function readingRoutes(app: FastifyInstance, { db }: Deps): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the plugins that the project has configured, in order',
    answer: PluginConfig,
    rows: async ({ access }) => {
      await requirePluginsLevel(db, access, 3);
      return listPluginConfigs(access.team_id!);
    },
  });

  addList(app, {
    url: `${one}logs/`,
    config: reading,
    summary: 'List the log of the plugin in this project, newest first',
    querystring: PluginLogQuery,
    answer: PluginLogEntry,
    rows: async (request) => {
      const { id } = await getConfig(db, request);
      return listPluginLogs(id, query(request, PluginLogQuery));
    },
  });
}

function makingRoute(app: FastifyInstance, deps: Deps): void {
  const description =
    "Values are checked against the plugin's `config_schema`. An enabled config needs all " +
    "required values. Enabling needs code that serves the plugin's collection. Needs the " +
    'plugins access level 3.';
  addWrite(app, {
    url: base,
    config: changing,
    summary: 'Configure a plugin for the project',
    description,
    body: PluginConfigCreate,
    response: { 201: PluginConfig },
    work: async ({ request, tx, record }) => {
      await requirePluginsLevel(tx, request.access, 3);
      const id = await createConfig(tx, deps, request, body(request, PluginConfigCreate));
      const created = await getConfig(tx, request, id);
      record(
        configEntry('created', undefined, created, secretChanges([], created.secret_keys, [])),
      );
      return created;
    },
  });
}

const records: Records<PluginConfigRow> = {
  url: one,
  answer: PluginConfig,
  reading,
  changing,
  get: (db, request) => getConfig(db, request),
  hold: getLockedConfig,
  entry: configEntry,
};

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const change = {
    patch: {
      summary: 'Change the sent fields of a config',
      description:
        'Values are merged key by key: an absent one is kept, null removes one. If you change a ' +
        'field that decides where the plugin sends to, or add an allowed host, send each secret ' +
        'again. An enabled plugin gets later events, and its error is cleared. Needs the plugins ' +
        'access level 3.',
      body: PluginConfigPatch,
    },
    put: {
      summary: 'Change a config; absent fields keep their values',
      description: 'Like PATCH, but `config` is replaced, except for secrets that are not sent.',
      body: PluginConfigPatch,
    },
  };
  addRecord(app, records, {
    retrieve: { summary: 'Retrieve a config' },
    change: {
      ...change,
      apply: async ({ tx, request, before }) => {
        const how = request.method === 'PUT' ? 'replace' : 'merge';
        const sent = body(request, PluginConfigPatch);
        const changed = await changeConfig(tx, deps, request, before, sent, how);
        return ({ secret_keys }) => secretChanges(before.secret_keys, secret_keys, changed);
      },
    },
    remove: {
      summary: "Delete a config, with the plugin's storage and logs",
      description:
        'Tokens of an OAuth connection are revoked at the vendor, if the vendor supports ' +
        'that. Needs the plugins access level 3.',
      apply: async ({ tx, before, afterwards }) => {
        const tool = findTool(before.plugin_info.url ?? '')?.directory;
        if (tool !== undefined) afterwards(await revocationOf(tx, deps, before.id, tool));
        await deletePluginConfig(tx, before.id);
        await removeOldVersions(tx, before.plugin);
      },
    },
  });
}
