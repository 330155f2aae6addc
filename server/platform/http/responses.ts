import type { FastifySchema, RouteOptions } from 'fastify';
import { Type } from 'typebox';
import type { TObject, TSchema } from 'typebox';
import { body_size_bytes_max } from './bodies/body.ts';
import { error_codes, error_types } from './error_codes.ts';
import { nullable } from '../nullable.ts';

const violation_fields = {
  attr: nullable(
    Type.String({
      description: 'The field, nested names joined with "__"; null for the request as a whole.',
    }),
  ),
  code: Type.Enum([...error_codes]),
  detail: Type.String({ description: 'A sentence for people.' }),
};

/** Where in a text it is, when what was sent or fetched is code. */
const place_fields = {
  file: Type.Optional(Type.String({ description: 'Name of the file that is wrong.' })),
  line: Type.Optional(Type.Integer({ description: 'Its line, counted from 1.' })),
  column: Type.Optional(Type.Integer({ description: 'Its column, counted from 1.' })),
};

/** The schema of every error body. */
export const Problem = Type.Object(
  {
    type: Type.Enum([...error_types]),
    ...violation_fields,
    status: Type.Integer(),
    title: Type.String(),
    request_id: Type.String(),
    errors: Type.Array(Type.Object({ ...violation_fields, ...place_fields }), {
      minItems: 1,
      description: 'Every violation, of more than 1,000 the first; the first is repeated above.',
    }),
  },
  { title: 'Problem' },
);

const descriptions: Record<number, string> = {
  200: 'The record.',
  201: 'The record that was created.',
  202: 'Taken; the work goes on.',
  204: 'Done; no body.',
  304: 'Unchanged since the ETag in If-None-Match; no body.',
  400:
    'The body or query is wrong (`errors` lists every violation), or the request shows two ' +
    'credentials.',
  401: 'No key, or an unknown, expired or revoked one.',
  403: 'The key lacks the scope, or the level in the organization is too low.',
  404: 'Unknown, or in an organization or project that the caller is not a member of.',
  406: 'The Accept header does not take JSON.',
  409: 'The present state does not allow it, or a request with this Idempotency-Key is running.',
  412: 'The record changed since the ETag in If-Match.',
  415: 'The body is not application/json.',
  422: 'The Idempotency-Key was used for another request.',
  429: 'Too many requests; Retry-After says when to come back.',
  500: 'The server failed.',
  503: 'A store does not answer at the moment; Retry-After says when to come back.',
};

const path_parameters: Record<string, string> = {
  organization_id: 'UUID of an organization, or `@current`.',
  project_id: 'Integer id of a project, or `@current`.',
  user__uuid: 'UUID of the person (`user.uuid`), or `@me`.',
  group_id: 'Id of the group.',
  id: 'Id of the record; `@current` where it is an organization or project.',
};

const changing = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const ValidateOnly = Type.Object({
  validate_only: Type.Optional(
    Type.Boolean({
      description:
        'Make every check and change nothing. `warnings` of the answer names what was ignored.',
    }),
  ),
});

/** True when the route's answer is a single record; lists have `results` and no `id` beside. */
export function answersRecord(route: Pick<RouteOptions, 'schema'>): boolean {
  const answer = answerOf(route);
  return (
    answer !== undefined &&
    (!('results' in (answer.properties ?? {})) || 'id' in (answer.properties ?? {}))
  );
}

/**
 * True when the route's answers have an `ETag`: single records, for the next `If-Match`, and every
 * answer to a GET, so that whoever asks again and again is spared what they have.
 */
export function isTagged(route: Pick<RouteOptions, 'schema' | 'method'>): boolean {
  return answersRecord(route) || (route.method === 'GET' && answerOf(route) !== undefined);
}

function answerOf({ schema }: Pick<RouteOptions, 'schema'>) {
  const answers = (schema?.response ?? {}) as Record<
    string,
    { properties?: Record<string, unknown> }
  >;
  return answers['200'] ?? answers['201'];
}

/**
 * The schema of a registered route with every status that it can answer, the parameters that all
 * such routes take, and names for the OpenAPI document; as it was declared where it is hidden.
 */
export function documentedRoute(route: RouteOptions): FastifySchema | undefined {
  const schema = route.config?.declared;
  return schema === undefined || schema.hide === true ? schema : documented({ ...route, schema });
}

function documented(route: RouteOptions): FastifySchema {
  const schema: FastifySchema = route.schema ?? {};
  const method = [route.method].flat()[0] ?? 'GET';
  const own = (schema.response ?? {}) as Record<string, TSchema>;
  const response: Record<string, unknown> = {};
  for (const [status, body] of Object.entries(own))
    response[status] = { description: descriptionOf(Number(status), route), ...body };
  const kept = own['201'] ?? own['202'];
  if (kept !== undefined)
    response['200'] ??= {
      ...kept,
      description: 'With `validate_only`: what would have been answered.',
    };
  for (const status of statusesOf(route, method))
    response[status] ??=
      status === 304
        ? { description: descriptions[304], type: 'null' }
        : { ...Problem, description: descriptionOf(status, route) };
  const more = schema.description === undefined ? '' : `\n\n${schema.description}`;
  return {
    ...schema,
    ...namesOf(route.url, method, schema),
    ...(route.config?.scope === 'public'
      ? { security: [] }
      : { description: `${scopeSentence(route)}${levelSentence(route)}${more}` }),
    ...parametersOf(route.url),
    ...(changing.has(method) && route.config?.foreign !== true
      ? {
          querystring: Type.Object({
            ...(schema.querystring as TObject | undefined)?.properties,
            ...ValidateOnly.properties,
          }),
        }
      : {}),
    ...headersOf(route, method),
    response,
  };
}

function statusesOf(route: RouteOptions, method: string): number[] {
  if (route.config?.foreign === true) return [400, 413, 503];
  const statuses = [400, 500, 503];
  if (changing.has(method)) statuses.push(413, 415);
  if (route.url.includes(':')) statuses.push(404);
  if (route.config?.scope === 'public') return statuses;
  statuses.push(401, 403, 406, 429);
  if (method === 'GET' && isTagged(route)) statuses.push(304);
  if (method === 'POST') statuses.push(409, 422);
  if (looksAtMatch(route, method)) statuses.push(412);
  return statuses;
}

function looksAtMatch({ config }: RouteOptions, method: string): boolean {
  return method === 'POST' ? config?.if_match === true : changing.has(method);
}

function descriptionOf(status: number, { bodyLimit = body_size_bytes_max }: RouteOptions): string {
  return status === 413
    ? `The body is larger than ${bodyLimit} bytes.`
    : (descriptions[status] ?? 'The answer.');
}

/**
 * The route's schema with each other media type beside JSON under the answer 200, for the document.
 */
export function withMediaTypes(
  schema: FastifySchema,
  media_types: readonly string[] | undefined,
): FastifySchema {
  if (media_types === undefined) return schema;
  const { description, ...json } = (schema.response as Record<string, TSchema>)[
    '200'
  ] as TSchema & {
    description: string;
  };
  const content = Object.fromEntries([
    ['application/json', { schema: json }],
    ...media_types.map((type) => [type, { schema: Type.String() }]),
  ]);
  return {
    ...schema,
    response: { ...(schema.response as object), 200: { description, content } },
  };
}

function scopeSentence({ config }: RouteOptions): string {
  const who = config?.session === true ? ' Only for people who signed in: a key is 403.' : '';
  return config?.scope === 'any'
    ? `Any key, whatever its scopes.${who}`
    : `Scope: \`${config?.scope}\`.${who}`;
}

function levelSentence(route: RouteOptions): string {
  const { level = 1 } = route.config ?? {};
  return level === 1 ? '' : ` Level in the organization: ${level} or higher.`;
}

/**
 * `/api/projects/:project_id/batch_exports/:id/pause/` POST gives the operation
 * `projects_batch_exports_pause_create` and the tag `batch_exports`; what is done to a collection
 * as a whole, such as `batch_exports/test/`, gives `projects_batch_exports_collection_test_create`.
 */
function namesOf(url: string, method: string, schema: FastifySchema) {
  const segments = url.split('/').filter((segment) => segment !== '' && segment !== 'api');
  const words = segments.filter((segment) => !segment.startsWith(':'));
  const single = segments.at(-1)?.startsWith(':') === true;
  const nested =
    segments[1] === ':organization_id' || segments[1] === ':project_id' ? segments[2] : undefined;
  if (
    nested !== undefined &&
    !single &&
    segments.length > 3 &&
    segments.at(-2)?.startsWith(':') === false
  )
    words.splice(-1, 0, 'collection');
  const verbs: Record<string, string> = {
    GET: single ? 'retrieve' : 'list',
    POST: 'create',
    PUT: 'update',
    PATCH: 'partial_update',
    DELETE: 'destroy',
  };
  return {
    operationId: [...words, verbs[method] ?? method.toLowerCase()].join('_'),
    tags: [nested ?? words[0] ?? 'server'],
    ...schema,
  };
}

function parametersOf(url: string): { params: TSchema } | undefined {
  const names = [...url.matchAll(/:(\w+)/g)].map((match) => match[1]!);
  if (names.length === 0) return undefined;
  return {
    params: Type.Object(
      Object.fromEntries(
        names.map((name) => [
          name,
          Type.String({ description: path_parameters[name] ?? `The ${name} of the record.` }),
        ]),
      ),
    ),
  };
}

function headersOf(route: RouteOptions, method: string): { headers?: TSchema } {
  const headers: Record<string, TSchema> = {};
  if (route.config?.scope === 'public') return {};
  if (method === 'POST')
    headers['Idempotency-Key'] = Type.Optional(
      Type.String({
        maxLength: 255,
        description:
          'The same key and body within 24 h give the stored answer instead of a second effect.',
      }),
    );
  if (looksAtMatch(route, method))
    headers['If-Match'] = Type.Optional(
      Type.String({
        description: 'ETag of the record that the change is meant for; 412 when it has changed.',
      }),
    );
  if (method === 'GET' && isTagged(route))
    headers['If-None-Match'] = Type.Optional(
      Type.String({ description: 'ETag that the caller has; 304 when the answer is unchanged.' }),
    );
  return Object.keys(headers).length === 0 ? {} : { headers: Type.Object(headers) };
}
