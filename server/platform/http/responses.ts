import type { FastifySchema, RouteOptions } from 'fastify';
import { Type } from 'typebox';
import type { TObject, TSchema } from 'typebox';
import { body_size_bytes_max } from './bodies/body.ts';
import { error_codes, error_types } from './error_codes.ts';
import { nullable } from '../nullable.ts';
import { answerTitle, bodyTitle, namesOf, parametersOf } from './openapi/names.ts';
import { flag, text, titled, whole } from './schemas.ts';

const violation_fields = {
  attr: nullable(
    text('The field, nested names joined with "__"; null for the request as a whole.'),
  ),
  code: Type.Enum([...error_codes]),
  detail: text('A sentence for people.'),
};

/** The place of a fault in sent or fetched code. */
const place_fields = {
  file: Type.Optional(text('Name of the file that is wrong.')),
  line: Type.Optional(whole('Its line, counted from 1.')),
  column: Type.Optional(whole('Its column, counted from 1.')),
};

/** The schema of every error body. */
export const Problem = titled('Problem', {
  type: Type.Enum([...error_types]),
  ...violation_fields,
  status: Type.Integer(),
  title: Type.String(),
  request_id: Type.String(),
  errors: Type.Array(Type.Object({ ...violation_fields, ...place_fields }), {
    minItems: 1,
    description: 'Every violation, at most the first 1,000; the fields above repeat the first one.',
  }),
});

const descriptions: Record<number, string> = {
  200: 'The record.',
  201: 'The record that was created.',
  202: 'Accepted; the work continues.',
  204: 'Done; no body.',
  304: 'Unchanged since the ETag in If-None-Match; no body.',
  400:
    'The body or query is wrong (`errors` lists every violation), or the request has two ' +
    'credentials.',
  401: 'The key is missing, unknown, expired or revoked.',
  403: 'The key lacks the scope, or the level in the organization is too low.',
  404: 'Unknown, or in an organization or project that the caller is not a member of.',
  406: 'The Accept header does not allow JSON.',
  409: 'The current state does not allow it, or a request with this Idempotency-Key is running.',
  412: 'The record changed since the ETag in If-Match.',
  415: 'The body is not application/json.',
  422: 'The Idempotency-Key was used for another request.',
  429: 'Too many requests; Retry-After says when to retry.',
  500: 'The server failed.',
  503: 'A store does not answer at the moment; Retry-After says when to retry.',
};

const changing = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const ValidateOnly = Type.Object({
  validate_only: Type.Optional(
    flag('Check everything and change nothing. `warnings` in the answer lists ignored names.'),
  ),
});

/**
 * Returns true if the route returns a single record; lists have `results` and no `id` beside it.
 */
export function answersRecord(route: Pick<RouteOptions, 'schema'>): boolean {
  const answer = answerOf(route);
  return (
    answer !== undefined &&
    (!('results' in (answer.properties ?? {})) || 'id' in (answer.properties ?? {}))
  );
}

/**
 * Returns true if the route's answers have an `ETag`: single records, for the next `If-Match`, and
 * every GET, so that repeated requests need not transfer the same body.
 */
export function isTagged(route: Pick<RouteOptions, 'schema' | 'method'>): boolean {
  return answersRecord(route) || (isReading(route) && answerOf(route) !== undefined);
}

/** Returns true for GET, and for the HEAD beside it. */
export function isReading({ method }: Pick<RouteOptions, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

function answerOf({ schema }: Pick<RouteOptions, 'schema'>) {
  const answers = (schema?.response ?? {}) as Record<
    string,
    { properties?: Record<string, unknown> }
  >;
  return answers['200'] ?? answers['201'];
}

/**
 * Returns the schema of a registered route for the OpenAPI document, with every possible status,
 * the shared parameters and the names; unchanged for hidden routes.
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
    response[status] = {
      ...(hasFields(body) ? { title: answerTitle(route.url) } : {}),
      description: descriptionOf(Number(status), route),
      ...body,
    };
  const kept = (response['201'] ?? response['202']) as TSchema | undefined;
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
    ...(route.config?.session === true ? { security: [{ session: [] }] } : {}),
    ...parametersOf(route.url),
    ...bodyOf(schema, route.url, method),
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

/** Returns the body under its name in the document. A body without fields is not documented. */
function bodyOf({ body }: FastifySchema, url: string, method: string): FastifySchema {
  if (body === undefined) return {};
  const { properties } = body as Partial<TObject>;
  return properties !== undefined && !hasFields(body as TSchema)
    ? { body: undefined }
    : { body: { title: bodyTitle(url, method), ...(body as object) } };
}

function hasFields(schema: TSchema): boolean {
  return Object.keys((schema as Partial<TObject>).properties ?? {}).length > 0;
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

/** Returns the route's schema with all media types of the answer 200, for the document. */
export function withMediaTypes(
  schema: FastifySchema,
  media_types: readonly string[] | undefined,
): FastifySchema {
  const answer = (schema.response as Record<string, TSchema>)['200']!;
  // An answer without JSON declares its media types itself.
  if (media_types === undefined || 'content' in answer) return schema;
  const { description, ...json } = answer as TSchema & {
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
  const who = config?.session === true ? ' Only for signed-in people; a key gets 403.' : '';
  return config?.scope === 'any'
    ? `Any key, whatever its scopes.${who}`
    : `Scope: \`${config?.scope}\`.${who}`;
}

function levelSentence(route: RouteOptions): string {
  const { level = 1 } = route.config ?? {};
  return level === 1 ? '' : ` Level in the organization: ${level} or higher.`;
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
      text('ETag of the record that the change is meant for; 412 when it has changed.'),
    );
  if (method === 'GET' && isTagged(route))
    headers['If-None-Match'] = Type.Optional(
      text('ETag that the caller has; 304 when the answer is unchanged.'),
    );
  return Object.keys(headers).length === 0 ? {} : { headers: Type.Object(headers) };
}
