import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { write } from '../../platform/http/write.ts';
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
import type { PluginConfigRow, PluginLogRow } from './schema.ts';
import type { HowToChange } from './settings.ts';
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
  changingRoutes(app, deps);
  acceptRoute(app, deps);
  deleteRoute(app, deps);
  runningRoutes(app, deps);
  deliveryRoutes(app, deps);
  oauthRoutes(app, deps);
  tryOutRoute(app, deps);
  previewRoute(app, deps);
  choicesRoute(app, deps);
  exportingRoutes(app, deps);
}

function readingRoutes(app: FastifyInstance, { db }: Deps): void {
  app.get(
    base,
    {
      config: reading,
      schema: {
        summary: 'List the plugins that the project has configured, in order',
        querystring: PageQuery,
        response: { 200: pageOf(PluginConfig) },
      },
    },
    async (request) => {
      await requirePluginsLevel(db, request.access, 3);
      return answerPage<PluginConfigRow>(request, db, listPluginConfigs(request.access.team_id!));
    },
  );

  app.get(
    one,
    { config: reading, schema: { summary: 'Retrieve a config', response: { 200: PluginConfig } } },
    (request) => getConfig(db, request),
  );

  app.get(
    `${one}logs/`,
    {
      config: reading,
      schema: {
        summary: 'List the log of the plugin in this project, newest first',
        querystring: PluginLogQuery,
        response: { 200: pageOf(PluginLogEntry) },
      },
    },
    async (request) => {
      const { id } = await getConfig(db, request);
      const wanted = query(request, PluginLogQuery);
      return answerPage<PluginLogRow>(request, db, listPluginLogs(id, wanted));
    },
  );
}

function makingRoute(app: FastifyInstance, deps: Deps): void {
  const description =
    "Values are checked against the plugin's `config_schema`. An enabled config needs all " +
    "required values. Enabling needs code that serves the plugin's collection. Needs the " +
    'plugins access level 3.';
  app.post(
    base,
    {
      config: changing,
      schema: {
        summary: 'Configure a plugin for the project',
        description,
        body: PluginConfigCreate,
        response: { 201: PluginConfig },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        await requirePluginsLevel(tx, request.access, 3);
        const id = await createConfig(tx, deps, request, body(request, PluginConfigCreate));
        const created = await getConfig(tx, request, id);
        record(
          configEntry('created', undefined, created, secretChanges([], created.secret_keys, [])),
        );
        return created;
      }),
  );
}

function changingRoutes(app: FastifyInstance, deps: Deps): void {
  const change = (how: HowToChange) => (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record) => {
      const before = await getLockedConfig(tx, request);
      ifMatch(request, before);
      const sent = body(request, PluginConfigPatch);
      const changed = await changeConfig(tx, deps, request, before, sent, how);
      const after = await getConfig(tx, request);
      record(
        configEntry(
          'updated',
          before,
          after,
          secretChanges(before.secret_keys, after.secret_keys, changed),
        ),
        before,
      );
      return after;
    });
  const description =
    'Values are merged key by key: an absent one is kept, null removes one. If you change a ' +
    'field that decides where the plugin sends to, or add an allowed host, send each secret ' +
    'again. An enabled plugin gets later events, and its error is cleared. Needs the plugins ' +
    'access level 3.';
  const schema = { body: PluginConfigPatch, response: { 200: PluginConfig } };
  app.patch(
    one,
    {
      config: changing,
      schema: { ...schema, summary: 'Change the sent fields of a config', description },
    },
    change('merge'),
  );
  const replacing = 'Like PATCH, but `config` is replaced, except for secrets that are not sent.';
  app.put(
    one,
    {
      config: changing,
      schema: {
        ...schema,
        summary: 'Change a config; absent fields keep their values',
        description: replacing,
      },
    },
    change('replace'),
  );
}

function deleteRoute(app: FastifyInstance, deps: Deps): void {
  app.delete(
    one,
    {
      config: changing,
      schema: {
        summary: "Delete a config, with the plugin's storage and logs",
        description:
          'Tokens of an OAuth connection are revoked at the vendor, if the vendor supports ' +
          'that. Needs the plugins access level 3.',
        response: { 204: { type: 'null' } },
      },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record, afterwards) => {
        const before = await getLockedConfig(tx, request);
        ifMatch(request, before);
        record(configEntry('deleted', before, undefined));
        const tool = findTool(before.plugin_info.url ?? '')?.directory;
        if (tool !== undefined) afterwards(await revocationOf(tx, deps, before.id, tool));
        await deletePluginConfig(tx, before.id);
        await removeOldVersions(tx, before.plugin);
      }),
  );
}
