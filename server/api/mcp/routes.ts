import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { basePath } from '../../platform/http/base_path.ts';
import { jsonBody } from '../../platform/http/bodies/body.ts';
import { agentChallenge, first_scopes, forAgent } from '../../platform/http/caller/agent_token.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import { agent_header } from '../../platform/http/caller/agent.ts';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { forbidden, methodNotAllowed, unauthenticated } from '../../platform/http/errors.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';
import { askRoute } from '../../platform/http/inner/inner_requests.ts';
import { urlOf } from './api_call.ts';
import type { ApiCall } from './api_call.ts';
import { withoutNullArguments } from './arguments.ts';
import { hasScopes } from './agent_server.ts';
import { openExchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { mcp_schema } from './schema.ts';
import { tools } from './tools.ts';

/**
 * `/mcp`: what agents ask, by streamable HTTP without sessions, so that every request stands alone
 * and any process may answer it.
 */
export function mcpRoutes(app: FastifyInstance, deps: Deps): void {
  let exchange: Promise<Exchange> | undefined;
  // In an instance of its own: a page of another site is refused before anything is looked at.
  void app.register(async (instance) => {
    instance.addHook('onRequest', (request, _reply, done) => {
      refuseOrigin(deps, request);
      done();
    });
    instance.addHook('onSend', async (request, reply) => {
      if (reply.statusCode !== 401) return;
      const error = request.headers.authorization === undefined ? undefined : 'invalid_token';
      reply.header('www-authenticate', agentChallenge(deps, first_scopes, error));
    });
    instance.post(
      '/mcp',
      {
        config: { scope: 'any', service_keys: true, foreign: true, agents: true },
        schema: mcp_schema,
      },
      async (request, reply) => {
        const message = messageOf(request);
        if (Array.isArray(message)) return refuseBatch(reply);
        const lacking = lackingScopes(request.caller, message);
        if (lacking !== undefined) {
          reply.header('www-authenticate', agentChallenge(deps, lacking, 'insufficient_scope'));
          throw forbidden(`The token lacks a scope of ${lacking.join(', ')}.`, 'scope');
        }
        exchange ??= openExchange(deps.log);
        return answer(reply, await (await exchange)(message, request.headers, contextOf(request)));
      },
    );
    instance.route({
      ...hiddenRoute({ 403: [problem], 405: [problem] }),
      method: ['GET', 'PUT', 'PATCH', 'DELETE'],
      url: '/mcp',
      onRequest: ({ method }, _reply, done) => done(methodNotAllowed(method, ['POST'])),
      handler: () => undefined,
    });
    instance.route({
      ...hiddenRoute({ 308: [], 403: [problem] }),
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp/',
      onRequest: (_request, reply) => void reply.redirect(`${basePath(deps)}/mcp`, 308),
      handler: () => undefined,
    });
  });
}

/**
 * Throws 403 for a page that is not of this server: one that has another name for the server's
 * address (DNS rebinding) names that in `Origin` and `Host`, so neither is believed.
 */
function refuseOrigin({ config }: Deps, { headers }: FastifyRequest): void {
  const { origin } = headers;
  if (origin !== undefined && origin !== new URL(config.public_url).origin)
    throw forbidden('A page of another site may not ask here.');
}

/** The body; throws for a caller without a key. */
function messageOf(request: FastifyRequest): unknown {
  if (request.caller.key_id === null)
    throw unauthenticated(
      'not_authenticated',
      'Send a personal API key in the header "Authorization: Bearer <key>", or sign in by OAuth: ' +
        'here a session does not count.',
    );
  return withoutNullArguments(jsonBody(request));
}

/**
 * The scopes of the called tool, if the token of an assistant lacks some: it can ask its person for
 * them. The holder of a key cannot, so the API refuses there.
 */
function lackingScopes(
  { resource, scopes }: Caller,
  message: unknown,
): readonly Scope[] | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } };
  if (resource === null || method !== 'tools/call') return undefined;
  const tool = tools.find(({ name }) => name === params?.name);
  if (tool === undefined || hasScopes(scopes, tool)) return undefined;
  return tool.challenge ?? tool.scopes;
}

/** Batches were a part of the protocol once, so whoever sends one hears its own words. */
function refuseBatch(reply: FastifyReply): FastifyReply {
  const message = 'Invalid Request: send one message in a request, not a list of them.';
  const body = { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
  return reply.code(400).type('application/json').send(JSON.stringify(body));
}

function contextOf(request: FastifyRequest) {
  const { context } = request.server;
  return {
    api: innerCalls(request),
    console_url: new URL(context.config.public_url).origin + basePath(context),
    onFault: (error: unknown) =>
      context.log.error({ err: error, request_id: request.id }, 'a tool of an agent failed'),
  };
}

/**
 * The API as the request's own key sees it: each call is a request of its own to the routes, with
 * all of their checks and limits.
 */
function innerCalls(request: FastifyRequest): ApiCall {
  return ({ method, body, ...asked }) =>
    forAgent(() =>
      askRoute(request, {
        method,
        url: urlOf({ method, ...asked }),
        body,
        headers: {
          authorization: request.headers.authorization!,
          accept: 'application/json',
          [agent_header]: 'mcp',
        },
      }),
    );
}

async function answer(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const type = response.headers.get('content-type');
  if (type !== null) void reply.type(type);
  const text = await response.text();
  return reply.code(response.status).send(text === '' ? undefined : text);
}
