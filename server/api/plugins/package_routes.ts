import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { readAside } from '../../platform/http/bodies/aside.ts';
import { large_body_size_bytes_max } from '../../platform/http/bodies/body.ts';
import { Problem } from '../../platform/http/responses.ts';
import { inTurn } from '../../platform/http/limits/heavy_turns.ts';
import { addRoute } from '../../platform/http/records.ts';
import type { Collection } from './collections.ts';
import { fetching } from './faults.ts';
import { getOwnPlugin } from './found.ts';
import { storedOrigin } from './origins.ts';
import { changing, reading } from './record_routes.ts';
import {
  Plugin,
  PluginWithDifferences,
  PluginWithSource,
  SourceChange,
  Upgrade,
} from './schema.ts';
import { sourceOf, updateSource } from './source.ts';
import { findHiddenPlugin, hasPreviousVersion, updateLatestTag } from './store.ts';
import { rollbackPlugin, upgradePlugin } from './upgrade.ts';

/** Routes of a plugin's package: look for updates, upgrade, roll back, show and edit its source. */
export function packageRoutes(app: FastifyInstance, deps: Deps, collection: Collection): void {
  checkRoute(app, deps, collection);
  versionRoutes(app, deps, collection);
  sourceRoutes(app, deps, collection);
}

const own =
  'Only for the organization that the plugin belongs to; needs the plugins access level 6.';
const acting = { ...changing, if_match: true } as const;

function checkRoute(app: FastifyInstance, deps: Deps, collection: Collection): void {
  const one = `${collection.base}:id/`;

  addRoute(app, {
    url: `${one}check_for_updates/`,
    config: reading,
    summary: 'Ask the origin for its newest version now',
    description:
      'The answer has it in `latest_tag`. If the origin cannot be reached, the answer is ' +
      `400 on \`url\`. ${own}`,
    response: { 200: Plugin, 400: Problem },
    handler: async (request) => {
      const { id } = await getOwnPlugin(deps.db, request, collection);
      const hidden = await findHiddenPlugin(deps.db, id);
      const origin =
        hidden === undefined
          ? undefined
          : await fetching('url', async () => storedOrigin(deps, id, hidden));
      // The newest version of an archive or folder is only known by its content.
      if (origin !== undefined)
        await updateLatestTag(
          deps.db,
          id,
          await inTurn(request, () => fetching('url', (signal) => origin.findLatest(signal))),
        );
      return getOwnPlugin(deps.db, request, collection);
    },
  });
}

function versionRoutes(app: FastifyInstance, deps: Deps, collection: Collection): void {
  const one = `${collection.base}:id/`;
  const upgrading =
    'Sluice fetches, compiles and checks the new version first. An error is 400 on `url`, and ' +
    'the old version stays. `changes` has the differences; with `validate_only` nothing else ' +
    'happens. A version that is installed already, and code that was written through the API, ' +
    'stay unchanged. Other fields of the body are changed after that, as PATCH of the record ' +
    'does, in the same transaction.';
  addRoute(app, {
    method: 'POST',
    url: `${one}upgrade/`,
    config: acting,
    summary: 'Install the newest version, or the version of a tag',
    description: `${upgrading} ${own}`,
    body: { ...Upgrade, title: 'PluginUpgradeRequest' },
    response: { 200: PluginWithDifferences },
    handler: (request, reply) =>
      inTurn(request, () => upgradePlugin(deps, request, reply, collection)),
  });

  addRoute(app, {
    method: 'POST',
    url: `${one}rollback/`,
    config: acting,
    summary: 'Return to the code before the last upgrade or edit',
    description:
      'A second rollback returns to the newer version. 409 if there is no earlier ' +
      'version.' +
      own,
    response: { 200: PluginWithDifferences },
    handler: (request, reply) => rollbackPlugin(deps, request, reply, collection),
  });
}

function sourceRoutes(app: FastifyInstance, deps: Deps, collection: Collection): void {
  const one = `${collection.base}:id/`;

  addRoute(app, {
    url: `${one}source/`,
    config: reading,
    summary: 'Retrieve the files of the installed version',
    description: `409 if the stored files differ from the installed ones. ${own}`,
    response: { 200: PluginWithSource, 409: Problem },
    handler: async (request) => {
      const plugin = await getOwnPlugin(deps.db, request, collection);
      const has_previous_version = await hasPreviousVersion(deps.db, plugin.id);
      return { ...plugin, source: await sourceOf(deps, deps.db, plugin.id), has_previous_version };
    },
  });

  const description =
    'Sluice compiles and checks the files in the sandbox. An error is 400 on `source` with ' +
    'file, line and column, and the old code stays. A plugin.json among them defines the ' +
    'fields of the record. Other fields of the body are changed as in a PATCH of the record. ' +
    'File names with a dot may also be beside `source`.';
  const body = { ...SourceChange, title: 'PluginSourceChange' };
  const schema = { body, response: { 200: PluginWithSource, 409: Problem } };
  app.patch(
    `${one}update_source/`,
    {
      bodyLimit: large_body_size_bytes_max,
      config: changing,
      schema: {
        ...schema,
        summary: 'Change files; those that are not named stay',
        description: `${description} ${own}`,
      },
    },
    (request, reply) =>
      inTurn(request, async () => {
        await readAside(request);
        return updateSource(deps, request, reply, collection, 'patch');
      }),
  );
  app.put(
    `${one}update_source/`,
    {
      bodyLimit: large_body_size_bytes_max,
      config: changing,
      schema: { ...schema, summary: 'Replace all files', description: `${description} ${own}` },
    },
    (request, reply) =>
      inTurn(request, async () => {
        await readAside(request);
        return updateSource(deps, request, reply, collection, 'put');
      }),
  );
}
