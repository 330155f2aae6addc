import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { CatalogueEntry } from '../../engine/plugins/packages/catalogue.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { conflict } from '../../platform/http/errors.ts';
import { isValidateOnly } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { write } from '../../platform/http/write.ts';
import { inTurn } from '../../platform/http/limits/heavy_turns.ts';
import { addList, addWrite } from '../../platform/http/records.ts';
import { changePlugin } from './change.ts';
import type { Collection } from './collections.ts';
import { createPlugin } from './create.ts';
import { pluginEntry } from './entry.ts';
import { getPlugin, lockOwnPlugin, placeOf } from './found.ts';
import { Plugin, PluginCreate, PluginPatch } from './schema.ts';
import { deletePlugin, isUsedElsewhere, listPlugins, requirePluginsLevel } from './store.ts';

/** Options of every route that reads a plugin. */
export const reading = { within: 'organization', scope: 'plugin:read' } as const;
/** Options of every route that changes a plugin. */
export const changing = { within: 'organization', scope: 'plugin:write', level: 8 } as const;

/** Routes that list, create, retrieve, change and delete in one collection. */
export function recordRoutes(
  app: FastifyInstance,
  deps: Deps,
  collection: Collection,
  catalogue: CatalogueEntry[],
): void {
  readingRoutes(app, deps, collection);
  makingRoute(app, deps, collection, catalogue);
  changingRoutes(app, deps, collection);
}

function readingRoutes(app: FastifyInstance, { db }: Deps, collection: Collection): void {
  const { base, plural, noun } = collection;
  const summary = `List the ${plural} that the organization can use, newest first`;
  addList(app, {
    url: base,
    config: reading,
    summary,
    answer: Plugin,
    rows: async (request) => {
      await requirePluginsLevel(db, request.access, 3);
      const place = placeOf(request, collection);
      return listPlugins(place);
    },
  });

  app.get(
    `${base}:id/`,
    { config: reading, schema: { summary: `Retrieve ${noun}`, response: { 200: Plugin } } },
    (request) => getPlugin(db, request, collection),
  );
}

function makingRoute(
  app: FastifyInstance,
  deps: Deps,
  collection: Collection,
  catalogue: CatalogueEntry[],
): void {
  const { base, noun } = collection;
  const description =
    'A package (`custom`, `repository`, `local`) is fetched, compiled and checked in the sandbox ' +
    'before the answer. Its plugin.json and its code define the fields. A package that cannot be ' +
    'fetched, or does not fit the collection, is 400 on `url` or `name`. `source`: fields are ' +
    'stored as sent, code comes through `update_source/`. Needs the plugins access level 6, and ' +
    'level 9 to set `is_global`.';
  app.post(
    base,
    {
      config: changing,
      schema: {
        summary: `Install ${noun}`,
        description,
        body: { ...PluginCreate, title: 'PluginCreate' },
        response: { 201: Plugin },
      },
    },
    (request, reply) => {
      isValidateOnly(request);
      return inTurn(request, () => createPlugin(deps, request, reply, collection, catalogue));
    },
  );
}

function changingRoutes(app: FastifyInstance, deps: Deps, collection: Collection): void {
  const { base, noun } = collection;
  const change = (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record) => {
      const { before, hidden } = await lockOwnPlugin(tx, request, collection);
      await changePlugin(tx, deps, request, before, hidden, body(request, PluginPatch));
      const after = await getPlugin(tx, request, collection);
      record(pluginEntry(collection, 'updated', before, after), before);
      return after;
    });
  const description =
    'Fetches nothing. You may overwrite fields that the package or its code defines (`name`, ' +
    '`capabilities`, ...); the next change of code sets them again. Needs the plugins access ' +
    'level 6, and level 9 to change `is_global`.';
  const changed = { ...PluginPatch, title: 'PluginPatch' };
  const schema = { description, body: changed, response: { 200: Plugin } };
  app.patch(
    `${base}:id/`,
    { config: changing, schema: { ...schema, summary: `Change the sent fields of ${noun}` } },
    change,
  );
  app.put(
    `${base}:id/`,
    {
      config: changing,
      schema: { ...schema, summary: `Change ${noun}; absent fields keep their values` },
    },
    change,
  );

  addWrite(app, {
    method: 'DELETE',
    url: `${base}:id/`,
    config: changing,
    summary: `Uninstall ${noun}, with the configs of the organization's projects`,
    description:
      '409 if a project of another organization has a config of the plugin. Needs the ' +
      'plugins access level 6.',
    response: { 204: { type: 'null' }, 409: Problem },
    work: async ({ request, tx, record }) => {
      const { before } = await lockOwnPlugin(tx, request, collection);
      if (await isUsedElsewhere(tx, before.id, request.access.organization_id))
        throw conflict(
          'Projects of other organizations use this plugin: they must remove their configs ' +
            'first.',
        );
      record(pluginEntry(collection, 'uninstalled', before, undefined));
      await deletePlugin(tx, before.id);
    },
  });
}
