import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomBase62 } from './api_key.ts';
import { cookieName, isSecure } from './session.ts';

/** Time limit of a sign-in: 10 minutes. */
export const sign_in_lifetime_ms = 600_000;

const well_formed = /^[0-9A-Za-z]{43}$/;

/**
 * Marks the browser that begins a sign-in and returns the stored HMAC of the mark. Scripts cannot
 * read the cookie, and it lasts as long as a sign-in may take. SameSite=Lax: browsers send it when
 * a provider redirects back or links here, but not with a form of another site. A browser with a
 * mark keeps it, so that two tabs may sign in at once.
 */
export function markBrowser(request: FastifyRequest, reply: FastifyReply): Buffer {
  const { public_url } = request.server.context.config;
  const mark = markOf(request) ?? randomBase62();
  void reply.header('cache-control', 'no-store');
  void reply.setCookie(cookieName(public_url, 'sign_in'), mark, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(public_url),
    maxAge: sign_in_lifetime_ms / 1000,
  });
  return hashOf(request, mark);
}

/** Returns the mark of the browser in its stored form, or undefined without one. */
export function findBrowser(request: FastifyRequest): Buffer | undefined {
  const mark = markOf(request);
  return mark === undefined ? undefined : hashOf(request, mark);
}

function markOf(request: FastifyRequest): string | undefined {
  const mark = request.cookies[cookieName(request.server.context.config.public_url, 'sign_in')];
  return mark !== undefined && well_formed.test(mark) ? mark : undefined;
}

function hashOf({ server }: FastifyRequest, mark: string): Buffer {
  return server.context.secrets.hash(`sign-in browser ${mark}`);
}
