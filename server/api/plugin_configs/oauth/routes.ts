import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { redirectAddress } from '../../../engine/plugins/oauth/addresses.ts';
import { findApplication } from '../../../engine/plugins/oauth/application.ts';
import { authorizeAddress } from '../../../engine/plugins/oauth/client.ts';
import { removeConnection } from '../../../engine/plugins/oauth/connection.ts';
import { revokeConnection } from '../../../engine/plugins/oauth/revoke.ts';
import { findVendor } from '../../../engine/plugins/oauth/vendors.ts';
import type { OauthVendor } from '../../../engine/plugins/oauth/vendors.ts';
import { findTool } from '../../../engine/plugins/tools/catalogue.ts';
import { randomBase62 } from '../../../platform/http/caller/api_key.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { write } from '../../../platform/http/write.ts';
import { addRoute, addWrite } from '../../../platform/http/records.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { configEntry } from '../entry.ts';
import { getConfig } from '../found.ts';
import type { PluginConfigRow } from '../schema.ts';
import { completeRoute, secretsOf } from './complete_route.ts';
import { OauthConnect, OauthDisconnect, PluginOauth } from './schema.ts';
import { findShownConnection, insertRequest } from './store.ts';

const base = '/api/projects/:project_id/plugin_configs/:id/oauth/';

/** Routes that connect a tool with an account at its vendor. */
export function oauthRoutes(app: FastifyInstance, deps: Deps): void {
  statusRoute(app, deps);
  connectRoute(app, deps);
  disconnectRoute(app, deps);
  completeRoute(app, deps);
}

type OauthTool = { config: PluginConfigRow; tool: string; vendor: OauthVendor };

/** Returns the tool of the path, with its OAuth definition. Throws 404 for a tool without OAuth. */
async function getTool(db: Queryable, request: FastifyRequest): Promise<OauthTool> {
  const config = await getConfig(db, request);
  const tool = findTool(config.plugin_info.url ?? '')?.directory ?? missing();
  return { config, tool, vendor: findVendor(tool) ?? missing() };
}

function statusRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url: base,
    config: { within: 'project', scope: 'plugin:read' },
    summary: "Retrieve a tool's OAuth application and connection",
    description: '404 for a plugin that does not use OAuth.',
    response: { 200: PluginOauth },
    handler: async (request): Promise<PluginOauth> => {
      const { config, tool, vendor } = await getTool(deps.db, request);
      const { authorize_url = null, token_url = null, revoke_url = null, scopes = '' } = vendor;
      const found = await findApplication(deps.db, deps.secrets, config.id, tool);
      return {
        tool,
        way: vendor.way,
        redirect_uri: redirectAddress(deps.config.public_url, tool),
        register_at: vendor.register_at ?? null,
        proposal: { authorize_url, token_url, revoke_url, scopes },
        application: found === undefined ? null : { id: found.id, client_id: found.client_id },
        connection: await findShownConnection(deps.db, config.id),
      };
    },
  });
}

function connectRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: `${base}connect/`,
    config: {
      within: 'project',
      scope: 'plugin:write',
      level: 8,
      session: true,
      no_store: true,
    },
    summary: 'Start to connect a tool with an account at its vendor',
    description:
      'Needs a session: only its browser can return, once, within 10 minutes, to ' +
      '`<public url>/complete/tool/<tool>/`. 409 without an OAuth application. Needs the ' +
      'plugins access level 3.',
    response: { 200: OauthConnect },
    work: async ({ request, tx, record }) => {
      const { config, tool, vendor } = await getTool(tx, request);
      if (vendor.way === 'settings')
        throw conflict(
          'The tool gets its tokens with its settings, so there is nothing to connect.',
        );
      const application = await findApplication(tx, deps.secrets, config.id, tool);
      if (application === undefined)
        throw conflict('Register an OAuth application for this tool first.');
      const state = randomBase62();
      const session_id = request.caller.session_id!;
      await insertRequest(tx, deps.secrets, {
        state,
        session_id,
        config_id: config.id,
        application,
      });
      record('nothing');
      const redirect_uri = redirectAddress(deps.config.public_url, tool);
      const secrets = secretsOf(deps, state);
      return {
        authorize_url: await authorizeAddress(deps, application, redirect_uri, secrets),
      };
    },
  });
}

function disconnectRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: `${base}disconnect/`,
    config: { within: 'project', scope: 'plugin:write', level: 8 },
    summary: 'Disconnect a tool, and revoke its tokens at the vendor',
    description:
      'The tokens are deleted here also if the vendor does not revoke them; `detail` says ' +
      'why it did not. Events wait until the tool is connected again. 409 if it is not ' +
      'connected. Needs the plugins access level 3.',
    response: { 200: OauthDisconnect },
    handler: async (request, reply) => {
      const { config, tool } = await getTool(deps.db, request);
      const detail = isValidateOnly(request) ? null : await revokeConnection(deps, config.id, tool);
      return write(request, reply, 200, async (tx, record) => {
        if (!(await removeConnection(tx, config.id))) throw conflict('The tool is not connected.');
        record(configEntry('disconnected', config, config));
        return { is_revoked: detail === null, detail };
      });
    },
  });
}
