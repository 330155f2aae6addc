import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { isFields } from '../../fields.ts';
import { isInstant } from '../../instant.ts';
import { invalidMany } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { etagOf } from '../etag.ts';
import { isValidateOnly } from '../lists/query.ts';
import { ignored_header, listed } from './ignored_header.ts';
import { hasProperty, unknownDetail, unknownNames, valueAt } from './unknown_names.ts';
import type { UnknownName } from './unknown_names.ts';

/** Treatment of names that a route does not know. */
export type UnknownPolicy = 'ignored' | 'refused';

/** The names of a request that its route does not know; refused ones are not included. */
export type Unknown = {
  /** Ignored parameters of the query. */
  parameters: Violation[];
  /** Ignored fields of the body. */
  fields: Violation[];
  /** Fields that only the server sets, until `settleReadOnly` has compared the record. */
  read_only: UnknownName[];
};

/**
 * Returns a route's treatment of names that it does not know. It is `ignored` for paths that
 * foreign clients use, `refused` for the rest of the API, and undefined if a foreign protocol
 * decides.
 */
export function unknownPolicy(
  route: RouteOptions,
  isLenient: (method: string, path: string) => boolean,
): UnknownPolicy | undefined {
  if (!route.url.startsWith('/api/') || route.config?.foreign === true) return undefined;
  if (route.schema === undefined || route.schema.hide === true) return undefined;
  const method = route.method === 'HEAD' ? 'GET' : String(route.method);
  return isLenient(method, route.url) ? 'ignored' : 'refused';
}

/**
 * Runs before the handler: undeclared query parameters are recorded as ignored, or a 400 lists
 * them. `format=json` requests the default.
 */
export async function checkParameters(request: FastifyRequest): Promise<void> {
  const { unknown, declared } = request.routeOptions.config;
  const { properties = {} } = (declared?.querystring ?? {}) as Partial<TObject>;
  const known = [
    ...Object.keys(properties),
    ...(request.method === 'GET' || request.method === 'HEAD' ? [] : ['validate_only']),
  ];
  const sent = Object.entries(request.query as Record<string, unknown>);
  const violations = sent
    .filter(([name, value]) => !known.includes(name) && !(name === 'format' && value === 'json'))
    .map(([name]) => unknownViolation('parameter', [name], known));
  if (unknown === 'refused' && violations.length > 0) throw invalidMany(violations);
  request.unknown = { parameters: violations, fields: [], read_only: [] };
}

/**
 * Returns the violations of unknown names in a body; none if they are recorded as ignored instead.
 * Fields of the answer are known: those of a PUT, PATCH or lenient POST wait for `settleReadOnly`.
 */
export function unknownFields(request: FastifyRequest, sent: unknown): Violation[] {
  const { unknown: policy, declared } = request.routeOptions.config;
  const { unknown } = request;
  if (policy === undefined || unknown === undefined) return [];
  const fields: TSchema = declared?.body ?? no_fields;
  const names = [...unknownNames(fields, sent), ...otherProject(request, fields, sent)];
  const answered = answerOf(declared?.response);
  const read_only = names.filter(({ path }) => hasProperty(answered, path));
  const violations = names
    .filter((name) => !read_only.includes(name))
    .map(({ path, known }) => unknownViolation('field', path, known));
  const isJudgedNow =
    policy === 'refused' && (request.method === 'POST' || request.method === 'DELETE');
  if (isJudgedNow) return [...violations, ...read_only.map((name) => readOnly(name, ''))];
  unknown.read_only = read_only;
  if (policy === 'refused') return violations;
  unknown.fields = violations;
  return [];
}

/** Returns the project that a body names below the path of another one, which decides. */
function otherProject({ access }: FastifyRequest, fields: TSchema, sent: unknown): UnknownName[] {
  const path = ['team_id'];
  const value = valueAt(sent, path);
  if (access?.team_id === undefined || value === undefined || value === access.team_id) return [];
  return hasProperty(fields, path) ? [{ path, known: [], value }] : [];
}

/**
 * Judges the fields that only the server sets, once the record is known. Values that match the
 * record, before or after the change, were read and sent back. The others are recorded as ignored.
 * A PATCH, which lists the changes, throws a 400 with them instead. A PUT sends a previously read
 * record, which may have changed since.
 */
export function settleReadOnly(request: FastifyRequest, records: readonly unknown[]): void {
  const { unknown } = request;
  if (unknown === undefined || unknown.read_only.length === 0) return;
  const plain = records.map((record) => JSON.parse(JSON.stringify(record ?? null)) as unknown);
  const violations = unknown.read_only
    .filter(({ path, value }) => !plain.some((record) => isSame(value, valueAt(record, path))))
    .map((name) => readOnly(name, ', or send the value that it has'));
  unknown.read_only = [];
  if (violations.length === 0) return;
  const { unknown: policy } = request.routeOptions.config;
  if (policy === 'refused' && request.method === 'PATCH') throw invalidMany(violations);
  unknown.fields = [...unknown.fields, ...violations];
}

/** Returns the header with the ignored names; empty if there are none. */
export function ignoredHeaders({ unknown }: FastifyRequest): Record<string, string> {
  const names = ignoredOf(unknown).map(({ attr }) => attr ?? '');
  return names.length === 0 ? {} : { [ignored_header]: listed(names) };
}

function ignoredOf(unknown: Unknown | undefined): Violation[] {
  return unknown === undefined ? [] : [...unknown.parameters, ...unknown.fields];
}

/** Runs before the answer is sent: adds the header. A replayed answer has its own. */
export async function tellIgnored(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (!reply.hasHeader(ignored_header)) reply.headers(ignoredHeaders(request));
  return payload;
}

/**
 * Runs before an answer becomes text: with `validate_only`, `warnings` also list the ignored names.
 * Its ETag stays that of the record.
 */
export async function warnOfIgnored(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const warnings = ignoredOf(request.unknown);
  if (warnings.length === 0 || reply.statusCode >= 400) return payload;
  if (!isFields(payload) || !isValidateOnly(request)) return payload;
  reply.header('etag', etagOf(JSON.stringify(payload)));
  return { ...payload, warnings };
}

const no_fields = { type: 'object', properties: {} };

function answerOf(response: unknown): TSchema {
  const answers = (response ?? {}) as Record<string, TSchema | undefined>;
  return answers['200'] ?? answers['201'] ?? answers['202'] ?? no_fields;
}

/** Longest part of a name that an answer repeats. */
const name_length_max = 100;

function unknownViolation(
  what: 'field' | 'parameter',
  path: readonly string[],
  known: readonly string[],
): Violation {
  return {
    attr: attrOfPath(path),
    code: 'unknown_field',
    detail: unknownDetail(what, path.at(-1)!, known),
  };
}

function readOnly({ path }: UnknownName, or_else: string): Violation {
  return {
    attr: attrOfPath(path),
    code: 'read_only',
    detail: `The server sets this field: leave it out${or_else}.`,
  };
}

function attrOfPath(path: readonly string[]): string {
  return path.map((name) => name.slice(0, name_length_max).toWellFormed()).join('__');
}

/** Returns true if both are equal as JSON, or the same instant in another notation. */
function isSame(sent: unknown, stands: unknown): boolean {
  if (isDeepStrictEqual(sent, stands)) return true;
  const texts = [sent, stands].filter((one): one is string => typeof one === 'string');
  return (
    texts.length === 2 && texts.every(isInstant) && Date.parse(texts[0]!) === Date.parse(texts[1]!)
  );
}
