import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { emailRoutes } from './email_routes.ts';
import { passkeyRoutes } from './passkey_routes.ts';
import { passwordRoutes } from './password_routes.ts';
import { recordRoutes } from './record_routes.ts';
import { secondFactorRoutes } from './second_factor_routes.ts';

/**
 * Routes of `/api/users/`: the caller's own account, its address, password, second factor and
 * passkeys, and mailed links.
 */
export function accountRoutes(app: FastifyInstance, deps: Deps): void {
  recordRoutes(app, deps);
  emailRoutes(app, deps);
  passwordRoutes(app, deps);
  secondFactorRoutes(app, deps);
  passkeyRoutes(app, deps);
}
