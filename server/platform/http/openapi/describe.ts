import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { version } from '../version.ts';
import { declareEmptyBodies } from './empty_bodies.ts';
import { hiddenRoute } from './hidden_route.ts';
import { documentedRoute, withMediaTypes } from './responses.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

/**
 * Keywords of our validator that say nothing to readers of the document. A property of that name is
 * an object and stays.
 */
const own_keywords = new Set(['trim', 'wrong_detail', 'not_before', 'not_after', 'refuses_empty']);

const description =
  'Management of organizations, their people, domains, plugins and scheduled exports.\n\n' +
  'Every request carries a personal API key as `Authorization: Bearer <key>`. Errors are ' +
  '`application/problem+json`; every path ends with a slash.';

/**
 * The page asks the API in the name of whoever is signed in, so no other site may frame it, and
 * what it loads comes from here. Swagger UI has styles in its markup and images in its styles.
 */
const page_policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'none'; " +
  "frame-ancestors 'none'; base-uri 'none'";

/**
 * Generates the OpenAPI 3.1 document from the routes that are registered after this, and shows it
 * at /docs/ with local assets only.
 */
export function describeApi(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice',
        description,
        version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          personal_api_key: {
            type: 'http',
            scheme: 'bearer',
            description: 'A personal API key (`slk_...`).',
          },
        },
      },
      security: [{ personal_api_key: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: shown(schema, route), url }),
    transformObject: (document) =>
      'openapiObject' in document
        ? (named(document.openapiObject as unknown as JsonObject) as never)
        : document.swaggerObject,
  });
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: page_policy,
    uiConfig: {
      layout: 'BaseLayout',
      docExpansion: 'list',
      deepLinking: true,
      persistAuthorization: false,
    },
  });
}

/** What the document says of a route; one that is not of the API has its own `schema` alone. */
function shown(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const declared = documentedRoute(route);
  if (declared === undefined || declared.hide === true) return declared ?? schema;
  return withMediaTypes(declared, route.config?.media_types);
}

/** Adds the route that answers the document. */
export function serveDocument(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/api/schema/', hiddenRoute({ 200: ['application/json'] }), (_request, reply) => {
    text ??= JSON.stringify(app.swagger());
    return reply.type('application/json; charset=utf-8').send(text);
  });
}

/**
 * Moves every object schema that has a title to `components.schemas` and gives error answers their
 * media type.
 */
function named(document: JsonObject): JsonObject {
  const schemas: JsonObject = {};
  declareEmptyBodies((document['paths'] ?? {}) as Record<string, JsonObject>);
  const paths = moved(document['paths'] ?? {}, schemas);
  declareNotAllowed(paths as Record<string, Record<string, Operation>>);
  const components = { ...(document['components'] as JsonObject), schemas };
  return { ...document, paths, components };
}

/** A schema as readers may see it: without the keywords that only our validator knows. */
export function publicSchema(schema: object): Record<string, unknown> {
  return withoutOwn(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function withoutOwn(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, entry]) => !own_keywords.has(name) || typeof entry === 'object')
      .map(([name, entry]) => [name, isObject(entry) ? withoutOwn(entry) : entry]),
  );
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

type Operation = { responses: JsonObject };

const not_allowed = {
  description:
    'A fixed path stands in the place of the parameter, and does not have the method; Allow ' +
    'names those that it has.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/**
 * A fixed path such as `@current/` hides the one with a parameter in its place, also for methods
 * that only the other has: those answer 405.
 */
function declareNotAllowed(paths: Record<string, Record<string, Operation>>): void {
  const all = Object.keys(paths);
  for (const path of all) {
    const form = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const fixed = all.filter((other) => other !== path && form.test(other));
    for (const [method, operation] of Object.entries(paths[path]!))
      if (fixed.some((other) => !(method in paths[other]!)))
        operation.responses['405'] ??= not_allowed;
  }
}

function moved(value: Json, schemas: JsonObject): Json {
  if (Array.isArray(value)) return value.map((entry) => moved(entry, schemas));
  if (value === null || typeof value !== 'object') return value;
  const inner: JsonObject = {};
  for (const [name, entry] of Object.entries(value))
    if (!own_keywords.has(name) || typeof entry === 'object') inner[name] = moved(entry, schemas);
  if (isTitled(inner)) return reference(inner, schemas);
  return isProblemContent(inner)
    ? {
        ...inner,
        content: {
          'application/problem+json': (inner['content'] as JsonObject)['application/json']!,
        },
      }
    : inner;
}

function isTitled(value: JsonObject): value is JsonObject & { title: string } {
  return (
    value['type'] === 'object' &&
    typeof value['title'] === 'string' &&
    typeof value['properties'] === 'object'
  );
}

function isProblemContent(value: JsonObject): boolean {
  const content = value['content'] as
    | { 'application/json'?: { schema?: { $ref?: string } } }
    | undefined;
  return content?.['application/json']?.schema?.$ref === '#/components/schemas/Problem';
}

function reference(schema: JsonObject & { title: string }, schemas: JsonObject): Json {
  const { title, ...body } = schema;
  const known = schemas[title];
  // The sentence about one answer stands with the answer; the schema is the same for all.
  const plain = { ...body };
  delete plain['description'];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain))
    throw new Error(`Two different schemas have the title ${title}.`);
  schemas[title] = plain;
  return { $ref: `#/components/schemas/${title}` };
}
