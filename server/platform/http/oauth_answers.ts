import type { FastifyReply, FastifyRequest } from 'fastify';
import { rawBody } from './bodies/body.ts';
import { apiErrorOf, noteError } from './error_handler.ts';
import { hiddenRoute, problem } from './hidden_route.ts';

/** A refusal in OAuth 2.0's form (RFC 6749, 5.2); when it is thrown, the route sends it. */
export class OAuthRefused extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.code = code;
  }
}

const json = ['application/json'];

/**
 * Returns the options of a public OAuth route: its refusals have the body of RFC 6749. `status` is
 * that of success.
 */
export function oauthRoute(status: 200 | 201 = 200) {
  const { config, schema } = hiddenRoute({
    [status]: json,
    400: json,
    401: json,
    404: [problem],
    413: json,
    429: json,
    500: json,
    503: json,
  });
  return { config: { ...config, no_store: true }, schema, errorHandler: tellRefusal };
}

/** Returns the fields of a form. Throws `OAuthRefused` for a repeated field (RFC 6749, 3.2). */
export function oauthForm(request: FastifyRequest): ReadonlyMap<string, string> {
  const fields = [...new URLSearchParams(rawBody(request)?.toString('utf8') ?? '')];
  const form = new Map(fields);
  if (form.size < fields.length)
    throw new OAuthRefused('invalid_request', 'The form has a field twice.');
  return form;
}

function tellRefusal(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof OAuthRefused) return send(reply, 400, error.code, error.message);
  const known = apiErrorOf(error, request.routeOptions.bodyLimit);
  noteError(request, known);
  if (known !== error && known.status >= 500)
    request.server.context.log.error(
      { err: error, request_id: request.id },
      'a request of OAuth failed',
    );
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
