import { body_size_bytes_max } from '../../platform/http/bodies/body.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';
import { scim_type } from './refusal.ts';

/** Enough for a group of ten thousand members, each with an id, a name and a reference. */
const values_max = 100_000;
const body = [scim_type];
const { config, schema } = hiddenRoute({
  200: body,
  201: body,
  204: [],
  400: body,
  401: body,
  403: body,
  // Fastify refuses an id that is too long before it looks for a route.
  404: [scim_type, problem],
  409: body,
  413: body,
  415: body,
  429: body,
  501: body,
  503: body,
});

/**
 * The options of each route of SCIM. The OpenAPI document leaves these routes out: RFC 7643 and
 * 7644 define their bodies, and `/Schemas` lists the supported parts.
 */
export const scimDoor = {
  schema,
  config: { ...config, values_max },
  bodyLimit: body_size_bytes_max,
};
