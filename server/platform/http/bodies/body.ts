import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Static, TObject, TSchema } from 'typebox';
import { isFields } from '../../fields.ts';
import type { Fields } from '../../fields.ts';
import { ApiError, invalidMany, unparsable, unsupportedMediaType } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { readJson } from './json_text.ts';
import type { ReadJson } from './json_text.ts';
import { unknownFields } from '../unknown/unknown_in_request.ts';
import { checked } from './validator.ts';

const json_type = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Largest body that is taken unless the route says otherwise, in bytes: 1 MiB. Together with the
 * number of values that `readJson` takes it bounds how long a body holds up everybody else.
 */
export const body_size_bytes_max = 1024 * 1024;
/**
 * Largest body of routes that take long texts or many records, in bytes: 20 MiB. They have it read
 * by `readAside`.
 */
export const large_body_size_bytes_max = 20 * 1024 * 1024;
/** Largest body of a route that needs no credentials, in bytes: 64 KiB. */
export const public_body_size_bytes_max = 64 * 1024;

/**
 * The body of an action that needs nothing to be said: `body` takes none at all, and what is sent
 * must be an object all the same.
 */
export const NoFields = Type.Object({});

/** The bytes of the body as they came; undefined when there are none. */
export function rawBody(request: FastifyRequest): Buffer | undefined {
  return Buffer.isBuffer(request.body) && request.body.length > 0 ? request.body : undefined;
}

/**
 * The body as JSON, unchecked, with the violations that stand already: texts that no store can
 * keep, and names that the route refuses. `checked` lists them together with its own; no body is an
 * empty object. Throws 415 for another kind of body and 400 for broken JSON.
 */
export function readBody(request: FastifyRequest): ReadJson {
  const { value, unstorable } = parsedBody(request);
  return { value, unstorable: [...unstorable, ...unknownFields(request, value)] };
}

function parsedBody(request: FastifyRequest): ReadJson {
  const { read_aside } = request;
  const bytes = rawBody(request);
  if (bytes === undefined && read_aside === undefined) return { value: {}, unstorable: [] };
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw unsupportedMediaType('Send the body without a Content-Encoding.');
  if (!json_type.test(request.headers['content-type'] ?? ''))
    throw unsupportedMediaType('Send the body as "Content-Type: application/json" in UTF-8.');
  if (read_aside === undefined) return readJson(bytes!, request.routeOptions.config.values_max);
  if ('refused' in read_aside) throw unparsable(read_aside.refused);
  return read_aside.read;
}

/**
 * As `readBody`, for a body that is not checked by one schema: throws 400 for what stands already.
 */
export function jsonBody(request: FastifyRequest): unknown {
  const { value, unstorable } = readBody(request);
  if (unstorable.length > 0) throw invalidMany(unstorable);
  return value;
}

/**
 * The checked body: called by a handler once it has found its object, because an unknown object
 * answers 404 whatever the body is. Throws a 400 that lists every violation; gives the schema's
 * fields only.
 */
export function body<Schema extends TSchema>(
  request: FastifyRequest,
  schema: Schema,
): Static<Schema> {
  const { value, unstorable } = readBody(request);
  return checked(schema, value, '', unstorable);
}

/** A body that its schema was asked about, and that further rules are to be asked about. */
export type BodyUnderCheck<Value> = {
  /**
   * The fields of the body, with texts trimmed as the schema says; no fields if the body is no
   * object.
   */
  sent: Fields;
  /** The sent fields that satisfy the schema. */
  passed: Partial<Value>;
  /**
   * The schema's fields. Throws one 400 with every violation, of the schema and then those of
   * `found`, unless the schema names the field already.
   */
  endWith(found: readonly Violation[]): Value;
};

/**
 * As `body`, for a body with rules that no schema can tell: they look at what was sent also when
 * the schema refuses some of it, so that one answer names everything that is wrong.
 */
export function beginBody<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
): BodyUnderCheck<Static<Schema>> {
  const { value, unstorable } = readBody(request);
  let refused: readonly Violation[] = [];
  let fields: Static<Schema> | undefined;
  try {
    fields = checked(schema, value, '', unstorable);
  } catch (error) {
    if (!(error instanceof ApiError) || error.type !== 'validation_error') throw error;
    refused = error.violations;
  }
  const told = new Set(refused.map(({ attr }) => attr));
  const refused_fields = new Set(refused.map(({ attr }) => attr?.split('__')[0]));
  const sent = isFields(value) ? value : {};
  const passed = Object.entries(sent).filter(
    ([name]) => Object.hasOwn(schema.properties, name) && !refused_fields.has(name),
  );
  return {
    sent,
    passed: Object.fromEntries(passed) as Partial<Static<Schema>>,
    endWith: (found) => {
      const all = [...refused, ...found.filter(({ attr }) => !told.has(attr))];
      if (all.length > 0) throw invalidMany(all);
      return fields as Static<Schema>;
    },
  };
}
