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
 * Largest body by default, in bytes: 1 MiB. Together with the number of values for `readJson`, it
 * bounds how long a body blocks other requests.
 */
export const body_size_bytes_max = 1024 * 1024;
/**
 * Largest body of routes for long texts or many records, in bytes: 20 MiB. `readAside` reads it.
 */
export const large_body_size_bytes_max = 20 * 1024 * 1024;
/** Largest body of a route that needs no credentials, in bytes: 64 KiB. */
export const public_body_size_bytes_max = 64 * 1024;

/**
 * The body of an action without fields: `body` accepts an absent one, and a sent one must be an
 * object.
 */
export const NoFields = Type.Object({});

/** Returns the original bytes of the body; undefined without any. */
export function rawBody(request: FastifyRequest): Buffer | undefined {
  return Buffer.isBuffer(request.body) && request.body.length > 0 ? request.body : undefined;
}

/**
 * Returns the unchecked body as JSON, with the violations so far: texts that no store can keep, and
 * names that the route refuses. `checked` lists them together with its own; an absent body is an
 * empty object. Throws 415 for another kind of body and 400 for invalid JSON.
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
 * Does the same as `readBody` for a body that no single schema checks: throws 400 for the
 * violations so far.
 */
export function jsonBody(request: FastifyRequest): unknown {
  const { value, unstorable } = readBody(request);
  if (unstorable.length > 0) throw invalidMany(unstorable);
  return value;
}

/**
 * Returns the checked body. A handler calls it once it has found its object, because an unknown
 * object is a 404 whatever the body is. Throws a 400 that lists every violation; returns only the
 * schema's fields.
 */
export function body<Schema extends TSchema>(
  request: FastifyRequest,
  schema: Schema,
): Static<Schema> {
  const { value, unstorable } = readBody(request);
  return checked(schema, value, '', unstorable);
}

/** A body whose schema was checked, for further rules. */
export type BodyUnderCheck<Value> = {
  /** The fields of the body, with texts trimmed by the schema; empty if the body is no object. */
  sent: Fields;
  /** The sent fields that satisfy the schema. */
  passed: Partial<Value>;
  /**
   * Returns the schema's fields. Throws one 400 with every violation, those of the schema and then
   * those of `found`, unless the schema's already name the field.
   */
  endWith(found: readonly Violation[]): Value;
};

/**
 * Does the same as `body` with rules that no schema can express: they check the sent fields even if
 * the schema refuses some, so that one answer names every fault.
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
