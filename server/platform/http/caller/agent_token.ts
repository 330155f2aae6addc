import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import { basePath } from '../base_path.ts';
import type { HttpContext } from '../context.ts';
import type { Scope } from './scopes.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/** The scopes that an assistant should first ask for: it reads, and changes nothing. */
export const first_scopes: readonly Scope[] = [
  'organization:read',
  'project:read',
  'batch_export:read',
  'activity_log:read',
  'plugin:read',
];

/** Returns the server's address as an issuer of tokens (RFC 8414), without a trailing slash. */
export function issuerOf(context: Context): string {
  return new URL(context.config.public_url).origin + basePath(context);
}

/** Returns the address that assistants' tokens are for (RFC 8707). */
export function agentResource(context: Context): string {
  return `${issuerOf(context)}/mcp`;
}

/** Tells an assistant in `WWW-Authenticate` where to sign in (RFC 9728), and for which scopes. */
export function agentChallenge(
  context: Context,
  scopes: readonly Scope[],
  error?: 'invalid_token' | 'insufficient_scope',
): string {
  const metadata = `${issuerOf(context)}/.well-known/oauth-protected-resource/mcp`;
  const parts = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    `resource_metadata="${metadata}"`,
    `scope="${scopes.join(' ')}"`,
  ];
  return `Bearer ${parts.join(', ')}`;
}

const asking = new AsyncLocalStorage<true>();

/** Lets `work` call the API's own routes for an assistant whose token was checked. */
export function forAgent<Result>(work: () => Result): Result {
  return asking.run(true, work);
}

/**
 * Returns true if the token is for this request's address. A token opens `/mcp`, and the requests
 * of the tools there.
 */
export function isMeantFor(context: Context, request: FastifyRequest, resource: string): boolean {
  const is_there = request.routeOptions.config.agents === true || asking.getStore() === true;
  return is_there && resource === agentResource(context);
}
