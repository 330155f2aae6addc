import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RouteOptions,
} from 'fastify';
import type { Deps } from '../../deps.ts';
import { ApiError } from '../../platform/http/errors.ts';
import { basePath } from '../../platform/http/base_path.ts';
import { allowPages, answerPreflight } from '../../platform/http/guards/cross_origin.ts';
import { apiErrorOf } from '../../platform/http/error_handler.ts';
import { hiddenRoute } from '../../platform/http/hidden_route.ts';
import { etagOf, isKnown } from '../../platform/http/etag.ts';
import { addressOf } from '../../platform/http/limits/address.ts';
import { doorSchema, problemAnswer, settingsSchema } from './door_schema.ts';
import { oneKey, shownKeys } from './keys.ts';
import { busyCapture, openCaptureLimits } from './limits.ts';
import { protocolsOf } from './read/message.ts';
import { protocols } from './protocols.ts';
import type { Answer, Door, Sent, SettingsDoor } from './protocol.ts';
import { refusedEventRoutes } from './refused_events/routes.ts';
import { openRefusals } from './refusals.ts';
import type { Refusals } from './refusals.ts';
import { sdkRefusal } from './sdk_refusal.ts';
import { openTake } from './take.ts';
import type { TakeSent } from './take.ts';
import { capture_size_bytes_max, dataOf } from './read/unpack.ts';
import { openWriteAccess } from './write_access.ts';
import type { WriteAccessFinder } from './write_access.ts';

const foreign_route = {
  config: { scope: 'public', accepts_anything: true, foreign: true },
  bodyLimit: capture_size_bytes_max,
} as const;

/**
 * Routes of existing SDKs: events under a write key, and the settings that the SDKs request. Also
 * the routes of refused events.
 */
export function captureRoutes(app: FastifyInstance, deps: Deps): void {
  refusedEventRoutes(app, deps);
  const limits = openCaptureLimits(app, deps);
  const findAccess = openWriteAccess(deps);
  const refusals = openRefusals(deps, findAccess);
  const take = openTake(deps, { limits, findAccess, refusals });
  // A Fastify instance of its own, because browsers need other headers and errors have other forms
  // here.
  void app.register(async (instance) => {
    instance.setErrorHandler((error, request, reply) => {
      const sent = sentOf(request, deps.clock.now());
      return refuse(deps, refusals, { error, request, reply, sent });
    });
    // The bytes decide how to parse a body, so every content type is accepted.
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', (request, payload, done) => {
      const { headers, ip } = request;
      const says_bytes = Number(headers['content-length'] ?? 0);
      const bytes_max = request.routeOptions.bodyLimit;
      limits.arrivals.read(payload, { owner: addressOf(ip), says_bytes, bytes_max }, done);
    });
    instance.addHook('onRequest', (request, reply, done) => {
      allowPages(request, reply);
      const { headers } = request.raw;
      if (!/^[\w.+-]+\/[\w.+-]+ *(;|$)/.test(headers['content-type'] ?? ''))
        headers['content-type'] = 'text/plain';
      if (request.method !== 'OPTIONS') limits.countAddress(addressOf(request.ip));
      done();
    });
    for (const path of new Set(allPaths()))
      instance.options(path, preflight_route, answerPreflight);
    const known = new Set<string>();
    for (const { match } of protocols)
      for (const door of match) eventDoor(instance, deps, door, take, known);
    for (const { settings } of protocols)
      for (const door of settings) settingsDoor(instance, door, { findAccess, refusals });
    emptyScripts(instance);
  });
}

const script = 'application/javascript';
const preflight_route = { ...hiddenRoute({ 200: [] }), config: foreign_route.config };
const { config: script_config, schema: script_schema } = hiddenRoute({ 200: [script] });
const refused_script = problemAnswer('There is no such script, or the server is too busy.');
const script_route = {
  config: script_config,
  schema: {
    hide: true,
    response: { ...script_schema.response, 404: refused_script, 503: refused_script },
  },
} as const;

function allPaths(): string[] {
  return protocols.flatMap(({ match, settings }) =>
    [...match, ...settings].flatMap(({ paths }) => paths.flatMap(spellings)),
  );
}

/** Clients write paths with or without a slash at the end, and a redirect would lose events. */
function spellings(path: string): string[] {
  return path.endsWith('/') ? [path, path.slice(0, -1)] : [path];
}

function eventDoor(
  instance: FastifyInstance,
  { clock }: Deps,
  door: Door,
  take: TakeSent,
  known: Set<string>,
): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const sent = sentOf(request, clock.now());
    const { body } = request;
    const bytes = Buffer.isBuffer(body) ? body : dataOf(sent.query['data'] ?? '');
    return send(reply, await take(bytes, request.headers['content-encoding'], sent));
  };
  const route = { ...foreign_route, handler };
  for (const method of door.methods ?? ['POST'])
    for (const path of door.paths) {
      // The body decides between protocols that share a path.
      if (known.has(`${method} ${path}`)) continue;
      known.add(`${method} ${path}`);
      twice(instance, { ...route, method }, path, doorSchema(door, method, path));
    }
}

/** Registers a path in both spellings; the OpenAPI document lists the first. */
function twice(
  instance: FastifyInstance,
  route: Omit<RouteOptions, 'url'>,
  path: string,
  schema: FastifySchema,
): void {
  for (const [index, url] of spellings(path).entries())
    instance.route({ ...route, url, schema: index === 0 ? schema : { ...schema, hide: true } });
}

function settingsDoor(
  instance: FastifyInstance,
  door: SettingsDoor,
  { findAccess, refusals }: { findAccess: WriteAccessFinder; refusals: Refusals },
): void {
  const { paths, methods = ['GET'], key: needs_key = false, keeps_nothing, answer } = door;
  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const sent = sentOf(request, 0);
    const { path, query, headers } = sent;
    if (keeps_nothing === true) refusals.noteOff(sent);
    const { key: named } = request.params as { key?: string };
    const key = needs_key ? oneKey([named, ...shownKeys({ query, headers })]) : undefined;
    if (key !== undefined) await findAccess(key);
    const scheme = schemeOf(request);
    const host = `${request.host}${basePath(request.server.context)}`;
    const has_bearer = /^bearer /i.test(headers.authorization ?? '');
    const answered = answer({ key, path, query, has_bearer, scheme, host });
    return request.method === 'GET' ? sendTagged(request, reply, answered) : send(reply, answered);
  };
  const route = { ...foreign_route, handler: handle };
  for (const method of methods)
    for (const path of paths)
      twice(instance, { ...route, method }, path, settingsSchema(door, method, path));
}

/**
 * Returns the scheme by which the client reached this host. A proxy with TLS may not report it, and
 * a page that reads `http` may then be unable to send.
 */
function schemeOf({ host, protocol, server }: FastifyRequest): string {
  const reached = new URL(server.context.config.public_url);
  return reached.host === host ? reached.protocol.slice(0, -1) : protocol;
}

/** Empty scripts for disabled features, so that clients can load them. */
function emptyScripts(instance: FastifyInstance): void {
  instance.get('/static/*', script_route, (request, reply) => {
    // The library itself is missing here; an empty file would silently lose all events.
    if (/\/array[\w.]*\.js$/.test(request.url.split('?')[0]!))
      throw new ApiError(404, 'invalid_request', [
        {
          attr: null,
          code: 'not_found',
          detail: 'This server has no copy of the library: load posthog-js from npm or a CDN.',
        },
      ]);
    const body = /\/toolbar[\w.]*\.js$/.test(request.url.split('?')[0]!) ? no_toolbar : '';
    return send(reply, { type: 'application/javascript; charset=utf-8', body });
  });
}

/** Clients of 2024 and before call one of these functions after loading, without a check. */
const no_toolbar = 'window.ph_load_toolbar=window.ph_load_editor=function(){};';

function sendTagged(request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
  const etag = etagOf(String(answer.body));
  // The answer depends on the host and on a key in a header, so shared caches may not keep it.
  reply.header('etag', etag).header('cache-control', 'private, max-age=300');
  if (isKnown(request, etag)) return reply.code(304).send();
  return send(reply, answer);
}

function send(reply: FastifyReply, { status = 200, type, headers = {}, body }: Answer) {
  return reply
    .code(status)
    .headers({ ...headers, ...(type === undefined ? {} : { 'content-type': type }) })
    .send(body);
}

type Failed = { error: unknown; request: FastifyRequest; reply: FastifyReply; sent: Sent };

/**
 * Writes an error in the protocol's own form, or else in the API's. A fault of the server, or a
 * temporary one, is 503, so that clients retry.
 */
function refuse(
  { log }: Deps,
  refusals: Refusals,
  { error, request, reply, sent }: Failed,
): FastifyReply {
  const known = apiErrorOf(error, request.routeOptions.bodyLimit);
  if (known !== error && known.status >= 500)
    log.error({ err: error, request_id: request.id }, 'a request with events failed');
  const told =
    known.status >= 500 && known.status !== 503
      ? busyCapture(5)
      : known.status === 415
        ? new ApiError(400, known.type, known.violations)
        : known;
  if (protocolsOf(sent.path).length > 0) refusals.note(sent, told);
  const answer = protocolsOf(sent.path)
    .map((protocol) => protocol.refuse?.(told, sent))
    .find((one) => one !== undefined);
  const { status, headers } = told;
  return send(reply.headers(headers), { ...(answer ?? sdkRefusal(told, request.id)), status });
}

/** Returns the parts of a request that its protocol reads. */
function sentOf(request: FastifyRequest, received_ms: number): Sent {
  const text = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    method: request.method,
    // As declared, because `/%65/` also spells `/e/`.
    path: request.routeOptions.url ?? '',
    query: plainQuery(request.query),
    headers: {
      authorization: text('authorization'),
      write_key: text('x-write-key'),
      content_type: text('content-type'),
      sent_at: text('posthog-request-timestamp') ?? text('sentat'),
      sdk_info: text('posthog-sdk-info'),
      request_id: text('posthog-request-id'),
    },
    sender: { user_agent: text('user-agent'), address: request.ip },
    received_ms,
  };
}

/** Returns the query; a repeated name has its first value. */
function plainQuery(query: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries((query ?? {}) as Record<string, string | string[]>).map(([name, value]) => [
      name,
      Array.isArray(value) ? (value[0] ?? '') : value,
    ]),
  );
}
