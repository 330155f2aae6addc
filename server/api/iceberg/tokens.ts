import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { rawBody } from '../../platform/http/bodies/body.ts';
import { isServiceKey } from '../../platform/http/caller/api_key.ts';
import {
  createExchangedToken,
  isExchangedToken,
  openExchangedToken,
} from '../../platform/http/caller/exchanged_token.ts';
import { apiErrorOf, noteError } from '../../platform/http/error_handler.ts';
import { ApiError, notedAs, throttled } from '../../platform/http/errors.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';

const lives_seconds = 3_600;
const access_token = 'urn:ietf:params:oauth:token-type:access_token';
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const json = ['application/json'];
const basic = /^Basic +([A-Za-z0-9+/=]+) *$/i;

/** An answer of OAuth 2.0 (RFC 6749, 5.2). */
class OAuthRefused extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.code = code;
  }
}

/**
 * Registers `/iceberg/v1/oauth/tokens`, where a client gives an API key as its `client_secret`, or
 * a token that still holds, for a token of an hour.
 */
export function tokenRoute(app: FastifyInstance, deps: Deps): void {
  const { config, schema } = hiddenRoute({
    200: json,
    400: json,
    401: json,
    404: [problem],
    413: json,
    429: json,
    500: json,
    503: json,
  });
  app.post(
    '/iceberg/v1/oauth/tokens',
    {
      config: { ...config, no_store: true, takes_tokens: true },
      schema,
      errorHandler: (error, request, reply) => tellRefusal(deps, error, request, reply),
    },
    async (request) => {
      const shown = shownBy(request);
      await requireValid(request, shown);
      const { secrets, clock } = deps;
      const credential = isExchangedToken(shown)
        ? openExchangedToken(secrets, shown, clock.now())!
        : ({
            kind: isServiceKey(shown) ? 'service_key' : 'key',
            hash: secrets.hash(shown),
          } as const);
      const expires_at_ms = clock.now() + lives_seconds * 1_000;
      return {
        access_token: createExchangedToken(secrets, credential, expires_at_ms),
        token_type: 'bearer',
        expires_in: lives_seconds,
        issued_token_type: access_token,
      };
    },
  );
}

/** The key or token of the form; a client may send its secret in the header of HTTP Basic too. */
function shownBy(request: FastifyRequest): string {
  const form = new URLSearchParams(rawBody(request)?.toString('utf8') ?? '');
  const header = basic.exec(request.headers.authorization ?? '')?.[1];
  const in_header =
    header === undefined
      ? undefined
      : Buffer.from(header, 'base64').toString('utf8').split(':').slice(1).join(':');
  const grant = form.get('grant_type');
  if (grant !== 'client_credentials' && grant !== exchange)
    throw new OAuthRefused(
      'unsupported_grant_type',
      'The grant_type is client_credentials, or token exchange.',
    );
  const shown =
    grant === exchange ? form.get('subject_token') : (form.get('client_secret') ?? in_header);
  if (shown === null || shown === undefined || shown === '')
    throw new OAuthRefused(
      'invalid_request',
      'Send an API key as client_secret; the client_id may be any text.',
    );
  return shown;
}

/** Throws unless the key or token would be accepted in this request; wrong ones are counted. */
async function requireValid(request: FastifyRequest, shown: string): Promise<void> {
  const { server } = request;
  request.headers.authorization = `Bearer ${shown}`;
  try {
    await server.findCaller(request);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    const wait_seconds = server.limiter.takeRefused(request.ip);
    throw wait_seconds === undefined
      ? error
      : notedAs(throttled(wait_seconds), 'locked_out', 'refused_keys');
  }
}

function tellRefusal(
  { log }: Pick<Deps, 'log'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof OAuthRefused) return send(reply, 400, error.code, error.message);
  const known = apiErrorOf(error, request.routeOptions.bodyLimit);
  noteError(request, known);
  if (known !== error && known.status >= 500)
    log.error({ err: error, request_id: request.id }, 'a token could not be given');
  const is_refused = known.status === 401 || known.status === 403;
  const code = is_refused
    ? 'invalid_client'
    : known.status >= 500
      ? 'server_error'
      : 'invalid_request';
  return send(reply.headers(known.headers), is_refused ? 401 : known.status, code, known.message);
}

function send(reply: FastifyReply, status: number, code: string, detail: string): FastifyReply {
  return reply
    .code(status)
    .type('application/json')
    .send(JSON.stringify({ error: code, error_description: detail }));
}
