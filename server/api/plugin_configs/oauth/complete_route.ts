import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { complete_path, redirectAddress } from '../../../engine/plugins/oauth/addresses.ts';
import { findApplication } from '../../../engine/plugins/oauth/application.ts';
import { OauthFault, redeemCode } from '../../../engine/plugins/oauth/client.ts';
import type { OauthSecrets } from '../../../engine/plugins/oauth/client.ts';
import { accountOf, storeConnection } from '../../../engine/plugins/oauth/connection.ts';
import { findVendor } from '../../../engine/plugins/oauth/vendors.ts';
import { appendActivity } from '../../../platform/activity/chain.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { basePath } from '../../../platform/http/base_path.ts';
import type { Caller } from '../../../platform/http/caller/access.ts';
import { apiErrorOf, noteError } from '../../../platform/http/error_handler.ts';
import { hiddenRoute } from '../../../platform/http/hidden_route.ts';
import { addressOf } from '../../../platform/http/limits/address.ts';
import { throttled } from '../../../platform/http/errors.ts';
import { html } from '../../../platform/http/pages/html.ts';
import { sendPage } from '../../../platform/http/pages/page.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { useRequest } from './store.ts';
import type { OauthRequest } from './store.ts';

const page = ['text/html'];

/**
 * The address to which the vendor returns the browser: it answers with pages, and is rate-limited
 * by client address.
 */
const browser_route = {
  ...hiddenRoute({ 303: [], 400: page, 401: page, 403: page, 404: page, 429: page, 502: page }),
  exposeHeadRoute: false,
  onRequest: async (request: FastifyRequest) => {
    const budget = request.server.limiter.take(`tool authorization from ${addressOf(request.ip)}`);
    if (budget?.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
  },
  errorHandler: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const fault = apiErrorOf(error);
    noteError(request, fault);
    return refuse(reply.headers(fault.headers), fault.status, fault.message);
  },
} satisfies RouteShorthandOptions;

/**
 * Completes an authorization at the vendor of a tool: exchanges the code for the tokens of the
 * config.
 */
export function completeRoute(app: FastifyInstance, deps: Deps): void {
  app.get(`${complete_path}:tool/`, browser_route, async (request, reply) => {
    const { tool = '' } = request.params as { tool?: string };
    const vendor = findVendor(tool);
    if (vendor === undefined) return refuse(reply, 404, 'This server has no such tool.');
    const query = new URL(request.url, deps.config.public_url).searchParams;
    const state = query.get('state') ?? '';
    const caller = await app.findCaller(request);
    // The state is used up before the vendor is called, so that only one of several requests
    // exchanges the code.
    const begun =
      typeof caller?.session_id === 'string'
        ? await useRequest(deps.db, deps.secrets, { state, session_id: caller.session_id, tool })
        : undefined;
    const application =
      begun && (await findApplication(deps.db, deps.secrets, begun.config_id, tool));
    if (begun === undefined || application === undefined)
      return refuse(reply, 403, unknown_request);
    try {
      const redirect_uri = redirectAddress(deps.config.public_url, tool);
      const secrets = secretsOf(deps, state);
      const issued = await redeemCode(deps, application, redirect_uri, secrets, query);
      await deps.db.transaction(async (tx) => {
        const connection = { config_id: begun.config_id, application, vendor, issued };
        await storeConnection(tx, deps.secrets, {
          ...connection,
          connected_by: caller!.user_id,
        });
        await noteConnected(tx, deps, request, caller!, begun, accountOf(vendor, issued));
      });
    } catch (error) {
      if (!(error instanceof OauthFault)) throw error;
      return refuse(reply, 502, `The tool was not connected. ${error.message}`);
    }
    const { team_id, plugin_id } = begun;
    const path = `/projects/${team_id}/plugins/pipeline_destinations/${plugin_id}`;
    return reply.redirect(`${basePath(deps)}${path}`, 303);
  });
}

const unknown_request =
  'This browser has not started to connect the tool, or the attempt was used, has expired, ' +
  'or is no longer allowed. Open the page of the tool and connect it there.';

/** Returns the secrets of an authorization, derived from its state and the server's key. */
export function secretsOf({ secrets }: Pick<Deps, 'secrets'>, state: string): OauthSecrets {
  const verifier = secrets.hash(`tool authorization verifier ${state}`).toString('base64url');
  return { state, verifier };
}

async function noteConnected(
  tx: Transaction,
  { secrets }: Deps,
  request: FastifyRequest,
  { user_id, user_uuid, email, session_id }: Caller,
  { config_id, organization_id, plugin_name }: OauthRequest,
  account: string | null,
): Promise<void> {
  const actor = { user_id, user_uuid, user_email: email, key_id: null, key_mask: null };
  const by = { ...actor, session_id, ip: request.ip, request_id: request.id };
  await appendActivity(tx, secrets, { organization_id }, by, {
    activity: 'connected',
    scope: 'plugin_config',
    item_id: String(config_id),
    item_name: plugin_name,
    changes: changesOf(undefined, { account }),
  });
}

function refuse(reply: FastifyReply, status: number, told: string): FastifyReply {
  const body = html`<p>${told}</p>
    <p><a href="./">To the console</a></p>`;
  return sendPage(reply, status, { title: 'The tool is not connected', body });
}
