import type { Server } from 'node:http';
import cookie from '@fastify/cookie';
import { fastify } from 'fastify';
import type { FastifyHttpOptions, FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { withoutBasePath } from './base_path.ts';
import { openAccessFinder } from './caller/access_finder.ts';
import type { AccessFinder } from './caller/access.ts';
import { body_size_bytes_max, public_body_size_bytes_max } from './bodies/body.ts';
import type { HttpContext } from './context.ts';
import { apiErrorOf, handleErrors, sendError, sendNotFound } from './error_handler.ts';
import { tagAnswer } from './etag.ts';
import { unparsable } from './errors.ts';
import { authenticate, showsCredential } from './caller/auth.ts';
import { guard, limitedSubjects } from './caller/guard.ts';
import { serveHealth } from './health/health.ts';
import { hostFault } from './guards/host_header.ts';
import { startHousekeeping } from './health/housekeeping.ts';
import { claimIdempotencyKey, settleIdempotencyKey } from './idempotency.ts';
import { answerLacking, declaredPath, findLacking } from './methods.ts';
import { endSilentConnections, isDraining } from './health/drain.ts';
import { describeApi } from './openapi/describe.ts';
import { empty_reference } from './openapi/reference.ts';
import type { ApiReference } from './openapi/reference.ts';
import { serveDocument } from './openapi/serve.ts';
import { openLimiter } from './limits/rate_limit.ts';
import { answerInPieces } from './lists/in_pieces.ts';
import { requestIdOf } from './request_id.ts';
import { answersRecord, isReading, isTagged } from './responses.ts';
import { commonHeaders } from './guards/security_headers.ts';
import { traceRequests } from './traced_requests.ts';
import {
  checkParameters,
  tellIgnored,
  unknownPolicy,
  warnOfIgnored,
} from './unknown/unknown_in_request.ts';
import type { UnknownPolicy } from './unknown/unknown_in_request.ts';
import { header_size_bytes_max, unreadAnswer } from './unread_answer.ts';

// Long enough for a file of events over a slow line; only the headers must arrive quickly, and Node
// waits a minute for those.
const request_timeout_ms = 3_600_000;

/** The facts about a request on its way through the server; see `context.ts`. */
const request_parts = [
  'caller',
  'access',
  'record',
  'idempotency',
  'read_aside',
  'unknown',
  'concerned',
] as const;

/**
 * Builds the HTTP server: the common rules of the whole API around the routes that `register` adds.
 * Guarantees: a route without `config.scope` stops the start. Every error has the same body. No
 * handler of a route that is not public runs before key, limit, scope, membership and level were
 * checked. Names that a route does not know are refused, or ignored and reported if `isLenient`
 * says so for its method and path.
 */
export function buildServer(
  context: HttpContext,
  register: (app: FastifyInstance) => void,
  isLenient: (method: string, path: string) => boolean = () => false,
  reference: ApiReference = empty_reference,
): FastifyInstance {
  const app = fastify(serverOptions(context));
  endSilentConnections(app);
  app.decorate('context', context);
  app.decorate(
    'limiter',
    openLimiter(context.db, context.clock, {
      per_minute: context.config.rate_limit_per_minute,
      per_hour: context.config.rate_limit_per_hour,
      person_factor: context.config.rate_limit_person_factor,
    }),
  );
  const findAccess = openAccessFinder(context.db);
  app.decorate('findCaller', async (request: FastifyRequest) =>
    showsCredential(request) ? authenticate(context, findAccess, request, undefined) : undefined,
  );
  for (const name of request_parts) app.decorateRequest(name);
  // Bytes stay unparsed: a handler parses them once it has found its object.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  );
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  handleErrors(app, context);
  findLacking(app);
  if (context.tracer !== undefined) traceRequests(app, context.tracer);
  observe(app, context);
  answerLacking(app);
  app.register(cookie);
  startHousekeeping(app, context);
  describeApi(app, context, reference);
  app.register(async (api) => {
    api.addHook('onRoute', (route) => {
      const unknown = unknownPolicy(route, isLenient);
      if (unknown !== undefined) route.config = { ...route.config, unknown };
      conduct(api, context, findAccess, route);
      if (unknown !== undefined) watchNames(route, unknown);
    });
    serveHealth(api, context);
    serveDocument(api, context, reference);
    register(api);
  });
  return app;
}

function serverOptions(context: HttpContext): FastifyHttpOptions<Server> {
  return {
    logger: false,
    // A client that is connected during the shutdown gets its answer, and the connection ends with
    // it.
    return503OnClosing: false,
    bodyLimit: body_size_bytes_max,
    requestTimeout: request_timeout_ms,
    requestIdHeader: false,
    genReqId: requestIdOf,
    rewriteUrl: (request) => withoutBasePath(context, request.url ?? '/'),
    trustProxy:
      context.config.trusted_proxies.length === 0 ? false : context.config.trusted_proxies,
    // A request without a Host header is refused below, with this API's error.
    http: { maxHeaderSize: header_size_bytes_max, requireHostHeader: false },
    frameworkErrors: (error, request, reply) => {
      const answer = apiErrorOf(error);
      void reply.headers(commonHeaders(context));
      if (answer.status === 404) void sendNotFound(request, reply);
      else void sendError(request, reply, answer);
    },
    clientErrorHandler: (error, socket) => {
      if (socket.writable) socket.end(unreadAnswer(context, error));
    },
  };
}

/**
 * Adds to a route its guard, its idempotency, its entity tag or its pieces, and its documentation.
 */
function conduct(
  app: FastifyInstance,
  context: HttpContext,
  findAccess: AccessFinder,
  route: RouteOptions,
): void {
  const { config } = route;
  if (config?.scope === undefined)
    throw new Error(
      `The route ${String(route.method)} ${route.url} declares no scope in its config.`,
    );
  const { scope } = config;
  if (scope === 'public') route.bodyLimit ??= public_body_size_bytes_max;
  else {
    if (route.schema?.response === undefined)
      throw new Error(
        `The route ${String(route.method)} ${route.url} documents no answer in schema.response.`,
      );
    route.onRequest = [guard(context, findAccess, app.limiter, route.url, { ...config, scope })];
    if (route.method === 'POST' && config.keeps_answers !== true) {
      route.preHandler = [async (request, reply) => claimIdempotencyKey(context, request, reply)];
      route.onSend = [
        async (request, reply, payload) => settleIdempotencyKey(context, request, reply, payload),
      ];
    }
    if (isTagged(route)) route.onSend = [tagAnswer, ...[route.onSend ?? []].flat()];
    if (isReading(route) && !answersRecord(route)) route.preSerialization = [answerInPieces];
  }
  // Only declared for the document: handlers check bodies, and their answers are plain JSON.
  // Fastify's own work on the schemas would be a fifth of building a server.
  if (route.schema !== undefined) route.config = { ...config, declared: route.schema };
  delete route.schema;
}

/** Makes a route check the names of a request before anything else. */
function watchNames(route: RouteOptions, unknown: UnknownPolicy): void {
  route.preHandler = [checkParameters, ...[route.preHandler ?? []].flat()];
  if (unknown === 'refused' && route.method !== 'PUT') return;
  route.onSend = [tellIgnored, ...[route.onSend ?? []].flat()];
  if (route.method !== 'GET')
    route.preSerialization = [warnOfIgnored, ...[route.preSerialization ?? []].flat()];
}

function observe(app: FastifyInstance, context: HttpContext): void {
  const common = commonHeaders(context);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(common).header('x-request-id', request.id);
    if (request.routeOptions.config?.no_store === true) reply.header('cache-control', 'no-store');
    if (isDraining(app)) reply.header('connection', 'close');
    const fault = hostFault(request.raw);
    done(fault === undefined ? undefined : unparsable(fault));
  });
  // The rest of a body that is too long is discarded as it arrives, like that of other refusals.
  // The framework would close the connection, and a client that is still sending would never see
  // the answer.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.statusCode === 413 && !isDraining(app)) reply.removeHeader('connection');
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    // Only a counted request can be refunded.
    if (reply.statusCode === 304 && request.caller !== undefined)
      app.limiter.refund(...limitedSubjects(request.caller));
    const route = declaredPath(request);
    context.metrics.request_seconds.observe(
      { method: request.method, route, status: String(reply.statusCode) },
      reply.elapsedTime / 1000,
    );
    context.log.debug(
      {
        request_id: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        duration_ms: reply.elapsedTime,
      },
      'request',
    );
    done();
  });
}
