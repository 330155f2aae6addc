import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { followAcceptedSchema } from '../../engine/plugins/follow_schema.ts';
import { removeOldVersions } from '../../engine/plugins/versions.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { conflict } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addWrite } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVisiblePlugin } from '../plugins/store.ts';
import { unreadyFault } from './change.ts';
import { configEntry } from './entry.ts';
import { getConfig, getLockedConfig } from './found.ts';
import { PluginConfig } from './schema.ts';
import type { PluginConfigRow } from './schema.ts';
import { acceptPresentVersion } from './store.ts';

/** Route by which a project accepts another organization's newer version of a plugin. */
export function acceptRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: '/api/projects/:project_id/plugin_configs/:id/accept_version/',
    config: { within: 'project', scope: 'plugin:write', level: 8, if_match: true },
    summary: "Run the waiting version of another organization's plugin",
    description:
      'A plugin of another organization keeps running the version that it had when you ' +
      'enabled it (`accepted_version`), even if that organization changes the plugin. ' +
      'This replaces the version by `waiting_version`: code, settings and jobs. If an ' +
      'enabled config lacks a setting of the new version, its `error` says so. ' +
      '`If-Match` with the ETag of the config accepts only the version that you have ' +
      'read. 409: no version waits, or the version cannot run. Needs the plugins access ' +
      'level 3.',
    body: NoFields,
    response: { 200: PluginConfig, 409: Problem },
    work: async ({ request, tx, record }) => {
      const before = await getLockedConfig(tx, request);
      ifMatch(request, before);
      body(request, NoFields);
      await acceptVersion(tx, deps, request.access.organization_id, before);
      const after = await getConfig(tx, request);
      record(configEntry('version_accepted', before, after));
      return after;
    },
  });
}

/** Throws 409 if no version waits, or if the version cannot run. */
async function acceptVersion(
  tx: Transaction,
  deps: Deps,
  organization_id: string,
  { id, plugin, waiting_version }: PluginConfigRow,
): Promise<void> {
  if (waiting_version === null)
    throw conflict('No newer version of this plugin waits here, so there is nothing to accept.');
  const { config_schema } = await acceptPresentVersion(tx, id);
  const { collection } = (await findVisiblePlugin(tx, organization_id, plugin))!;
  const fault = await unreadyFault(tx, deps, { id, collection });
  if (fault !== undefined)
    throw conflict(`The new version cannot run, so the accepted one stays. ${fault}`);
  await followAcceptedSchema(tx, deps.secrets, id, config_schema);
  await removeOldVersions(tx, plugin);
}
