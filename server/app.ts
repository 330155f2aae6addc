import type { FastifyInstance } from 'fastify';
import { isOfContract } from './api/contract_endpoints.ts';
import { slices } from './api/index.ts';
import { api_reference } from './api/reference/reference.ts';
import type { Deps } from './deps.ts';
import { buildServer } from './platform/http/server.ts';

/**
 * The HTTP application with all routes, not yet listening; `close` ends what it started and leaves
 * `deps` open.
 */
export function buildApp(deps: Deps): FastifyInstance {
  const register = (app: FastifyInstance) => {
    for (const slice of slices) slice(app, deps);
  };
  return buildServer(deps, register, isOfContract, api_reference);
}
