import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpContext } from '../context.ts';
import { randomBase62 } from './api_key.ts';
import { cookieName, isSecure } from './session.ts';

/**
 * Time for which a browser is remembered after its last sign-in: 400 days, the longest life of
 * cookies.
 */
export const device_kept_ms = 400 * 24 * 3_600_000;

const well_formed = /^sld_[0-9A-Za-z]{43}$/;

/** Creates a browser's token: `sld_` and 43 base-62 characters of 256 random bits. */
export function createDeviceToken(): string {
  return `sld_${randomBase62()}`;
}

/** Returns the token that identifies the request's browser; undefined without one. */
export function deviceTokenOf(request: FastifyRequest): string | undefined {
  const token = request.cookies[cookieName(request.server.context.config.public_url, 'device')];
  return token !== undefined && well_formed.test(token) ? token : undefined;
}

/** Stores the token in the browser's cookie, which scripts cannot read and only sign-ins use. */
export function setDeviceCookie(
  { config: { public_url } }: Pick<HttpContext, 'config'>,
  reply: FastifyReply,
  token: string,
  expires_at_ms: number,
): void {
  void reply.setCookie(cookieName(public_url, 'device'), token, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(public_url),
    expires: new Date(expires_at_ms),
  });
}
