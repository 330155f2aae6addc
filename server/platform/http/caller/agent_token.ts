import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import { basePath } from '../base_path.ts';
import type { HttpContext } from '../context.ts';
import type { Scope } from './scopes.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/** The scopes that an assistant is told to ask for at first: it looks, and changes nothing. */
export const first_scopes: readonly Scope[] = [
  'organization:read',
  'project:read',
  'batch_export:read',
  'activity_log:read',
  'plugin:read',
];

/** The address of the server as who gives tokens out (RFC 8414), without a slash at its end. */
export function issuerOf(context: Context): string {
  return new URL(context.config.public_url).origin + basePath(context);
}

/** The address that tokens of assistants are for (RFC 8707). */
export function agentResource(context: Context): string {
  return `${issuerOf(context)}/mcp`;
}

/** Says in `WWW-Authenticate` where an assistant finds how to sign in (RFC 9728), and for what. */
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

/** Lets `work` ask the API's own routes for an assistant whose token was checked. */
export function forAgent<Result>(work: () => Result): Result {
  return asking.run(true, work);
}

/** Is the token for what the request asks? A token opens `/mcp`, and what the tools there ask. */
export function isMeantFor(context: Context, request: FastifyRequest, resource: string): boolean {
  const is_there = request.routeOptions.config.agents === true || asking.getStore() === true;
  return is_there && resource === agentResource(context);
}
