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
 * Route `/mcp` for agents, by streamable HTTP without sessions: every request is independent, so
 * any process can answer it.
 */
export function mcpRoutes(app: FastifyInstance, deps: Deps): void {
  let exchange: Promise<Exchange> | undefined;
  // A Fastify instance of its own, so that a page of another site is refused first.
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
          throw forbidden(`The token lacks one of the scopes ${lacking.join(', ')}.`, 'scope');
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
 * Throws 403 for a page of another site. With DNS rebinding, such a page names its own host in
 * `Origin` and `Host`, so the check trusts neither.
 */
function refuseOrigin({ config }: Deps, { headers }: FastifyRequest): void {
  const { origin } = headers;
  if (origin !== undefined && origin !== new URL(config.public_url).origin)
    throw forbidden('Pages of other sites cannot use this address.');
}

/** Returns the body; throws for a caller without a key. */
function messageOf(request: FastifyRequest): unknown {
  if (request.caller.key_id === null)
    throw unauthenticated(
      'not_authenticated',
      'Send a personal API key in the header "Authorization: Bearer <key>", or sign in by ' +
        'OAuth: a session is not accepted here.',
    );
  return withoutNullArguments(jsonBody(request));
}

/**
 * Returns the scopes of the called tool if the token of an assistant lacks some, so that it can ask
 * its person for them. The holder of a key cannot ask, so the API refuses there.
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

/**
 * Earlier versions of the protocol had batches, so the refusal of a batch has the protocol's form.
 */
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
 * Calls the API with the request's own key: each call is a request to the routes, with all of their
 * checks and limits.
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
