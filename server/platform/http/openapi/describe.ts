import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { version } from '../../version.ts';
import { cookieName } from '../caller/session.ts';
import type { HttpContext } from '../context.ts';
import { declareEmptyBodies } from '../empty_bodies.ts';
import { documentedRoute, withMediaTypes } from '../responses.ts';
import { withComponents } from './components.ts';
import { isObject } from './json.ts';
import type { JsonObject } from './json.ts';
import { declareNotAllowed } from './not_allowed.ts';
import type { Operations } from './not_allowed.ts';
import type { ApiReference } from './reference.ts';
import { withSharedParts } from './shared_parts.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/**
 * Generates an OpenAPI 3.1 document from the routes registered after this: `app.swagger()` returns
 * all of them, with their own descriptions. `serveDocument` adds the texts that people write.
 */
export function describeApi(app: FastifyInstance, { config }: Context, texts: ApiReference): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: texts.title,
        description: texts.introduction,
        version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: config.public_url.replace(/\/$/, ''), description: 'This server.' }],
      components: {
        securitySchemes: {
          personal_api_key: {
            type: 'http',
            scheme: 'bearer',
            description: 'A personal API key (`slk_...`).',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieName(config.public_url, 'session'),
            description: 'The session of a signed-in person; it opens everything that a key opens.',
          },
        },
      },
      security: [{ personal_api_key: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: shown(schema, route), url }),
    transformObject: (document) =>
      'openapiObject' in document
        ? (componentized(document.openapiObject as unknown as JsonObject) as never)
        : document.swaggerObject,
  });
}

/**
 * Returns the schema that the document shows for a route; a route outside the API shows only its
 * own `schema`.
 */
function shown(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const declared = documentedRoute(route);
  if (declared === undefined || declared.hide === true) return declared ?? schema;
  return withMediaTypes(declared, route.config?.media_types);
}

/** Returns the document with a name for every part that several operations share. */
function componentized(document: JsonObject): JsonObject {
  const schemas: JsonObject = {};
  declareEmptyBodies((document['paths'] ?? {}) as Record<string, JsonObject>);
  const named = withComponents(document['paths'] ?? {}, schemas);
  declareNotAllowed(named as Record<string, Operations>);
  const { paths, components } = withSharedParts(isObject(named) ? named : {});
  const sorted = Object.fromEntries(
    Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return {
    ...document,
    paths,
    components: { ...(document['components'] as JsonObject), ...components, schemas: sorted },
  };
}
