import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { basePath } from '../../../platform/http/base_path.ts';
import {
  agentResource,
  first_scopes,
  issuerOf,
} from '../../../platform/http/caller/agent_token.ts';
import { all_scopes } from '../../../platform/http/caller/scopes.ts';
import { hiddenRoute } from '../../../platform/http/hidden_route.ts';

const of_resource = '/.well-known/oauth-protected-resource';
const of_server = '/.well-known/oauth-authorization-server';

/**
 * Routes that an assistant reads before it signs in: the description of `/mcp` (RFC 9728), and the
 * issuer of its tokens (RFC 8414).
 */
export function metadataRoutes(app: FastifyInstance, deps: Deps): void {
  const issuer = issuerOf(deps);
  const base = basePath(deps);
  const resource = {
    resource: agentResource(deps),
    authorization_servers: [issuer],
    scopes_supported: first_scopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Sluice',
    resource_documentation: `${issuer}/docs/`,
  };
  const server = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: all_scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
  const route = hiddenRoute({ 200: ['application/json'] });
  // The server's base path follows the well-known path; a proxy may remove it.
  for (const path of new Set([of_resource, `${of_resource}/mcp`, `${of_resource}${base}/mcp`]))
    app.get(path, route, (_request, reply) => reply.send(resource));
  for (const path of new Set([of_server, `${of_server}${base}`]))
    app.get(path, route, (_request, reply) => reply.send(server));
}
