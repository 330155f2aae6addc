import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { rawBody } from '../../platform/http/bodies/body.ts';
import { apiErrorOf, noteError } from '../../platform/http/error_handler.ts';
import { hiddenRoute } from '../../platform/http/hidden_route.ts';
import { html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';
import { noteSecurity } from '../../platform/http/security_log/note_security.ts';
import type { OpenidProvider } from '../../platform/openid_providers.ts';
import { limitAddress } from './limit.ts';
import { SignInRefused } from './refusal.ts';

/**
 * The ways to sign in at this route: a SAML provider, an OpenID provider, or the operator's link.
 */
export type Way = 'saml' | 'link' | OpenidProvider;

const page = ['text/html'];
const refusals = { 400: page, 403: page, 404: page, 413: page, 429: page, 503: page };

/**
 * Returns the options of a route that browsers navigate to: public, answered with pages, also for
 * errors, and with a key's rate limit for each client address.
 */
export function browserRoute(way: Way, size_bytes_max = 4_096) {
  return {
    ...hiddenRoute({ 200: page, 303: [], ...refusals }),
    bodyLimit: size_bytes_max,
    // It would act like GET, which signs people in.
    exposeHeadRoute: false,
    onRequest: async (request: FastifyRequest) => limitAddress(request, 'single sign-on'),
    errorHandler: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      answerFault(way, error, request, reply),
  } satisfies RouteShorthandOptions;
}

/**
 * Returns the fields of a posted form. Throws `SignInRefused` for another kind of body and for a
 * repeated field.
 */
export function readForm(request: FastifyRequest): ReadonlyMap<string, string> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const fields =
    type === 'application/x-www-form-urlencoded'
      ? [...new URLSearchParams(rawBody(request)?.toString('utf8') ?? '')]
      : undefined;
  const form = new Map(fields);
  if (fields === undefined || form.size < fields.length)
    throw new SignInRefused('form', 'The body is not a form, or it has a field twice.', 400);
  return form;
}

/** Counts a completed sign-in, with the reason if it was refused. */
export function countSignIn(
  { server }: FastifyRequest,
  way: Way,
  outcome: 'accepted' | SignInRefused['reason'],
): void {
  server.context.metrics.single_sign_ons.inc({ way, outcome });
}

/** Records in metrics and security log why a sign-in was refused. */
export function logRefusal(
  request: FastifyRequest,
  way: Way,
  { reason, message }: Pick<SignInRefused, 'reason' | 'message'>,
): void {
  countSignIn(request, way, reason);
  const more = { way, detail: message };
  noteSecurity(request, { event: 'single_sign_on_refused', reason, more });
}

function answerFault(
  way: Way,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof SignInRefused) {
    logRefusal(request, way, error);
    return sendFault(
      request,
      reply,
      error.status,
      'You were not signed in. Try again. If it fails again, give your administrator the ' +
        'request id.',
    );
  }
  const fault = apiErrorOf(error);
  noteError(request, fault);
  if (fault !== error && fault.status >= 500)
    request.server.context.log.error(
      { err: error, request_id: request.id },
      'a single sign-on failed',
    );
  return sendFault(
    request,
    reply.headers(fault.headers),
    fault.status,
    fault.status === 413 ? 'The request is larger than a sign-in can be.' : fault.message,
  );
}

function sendFault(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  told: string,
): FastifyReply {
  const body = html`<p>${told}</p>
    <p class="muted">Request id: <code>${request.id}</code></p>
    <p><a href="login">Back to sign-in</a></p>`;
  return sendPage(reply, status, { title: 'You are not signed in', body });
}
