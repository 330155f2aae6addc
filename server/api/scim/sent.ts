import type { FastifyRequest } from 'fastify';
import { jsonBody } from '../../platform/http/bodies/body.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { attributeOf, readPath } from './filter.ts';
import type { Path } from './filter.ts';
import { ScimRefused, invalidValue } from './refusal.ts';

/** One requested operation; `value` is undefined if the whole attribute is removed. */
export type Operation = { kind: 'add' | 'replace' | 'remove'; path: Path; value: unknown };

const external_id_length_max = 500;
const operations_max = 10_000;

/** Returns the body as an object; throws 400 for anything else. */
export function objectBody(request: FastifyRequest): Fields {
  const sent = jsonBody(request);
  if (!isFields(sent))
    throw new ScimRefused(400, 'invalidSyntax', 'The body must be a JSON object.');
  return sent;
}

/** Returns a whole resource as operations that set each of its attributes. */
export function operationsOfResource(sent: Fields): Operation[] {
  return operationsOfFields('replace', sent);
}

/**
 * Returns the operations of a PATCH in order, one for each attribute. Their kind ignores letter
 * case. Without a path, the names in the value are the paths, as Okta and Entra send them.
 */
export function operationsOfPatch(sent: Fields): Operation[] {
  const list = Object.entries(sent).find(([name]) => name.toLowerCase() === 'operations')?.[1];
  if (!Array.isArray(list) || list.length === 0 || list.length > operations_max)
    throw new ScimRefused(
      400,
      'invalidSyntax',
      `A PATCH must have a list of 1 to ${operations_max} Operations.`,
    );
  return list.flatMap((one) => operationsOf(one));
}

function operationsOf(sent: unknown): Operation[] {
  const { op, path, value } = isFields(sent) ? sent : {};
  const kind = typeof op === 'string' ? op.toLowerCase() : '';
  if (kind !== 'add' && kind !== 'replace' && kind !== 'remove')
    throw new ScimRefused(
      400,
      'invalidSyntax',
      'The op of an operation must be add, replace or remove.',
    );
  if (path !== undefined && path !== null && typeof path !== 'string')
    throw new ScimRefused(400, 'invalidPath', 'The path of an operation must be a text.');
  if (path !== undefined && path !== null && path !== '')
    return nested({ kind, path: readPath(path), value });
  if (!isFields(value))
    throw new ScimRefused(
      400,
      kind === 'remove' ? 'invalidPath' : 'invalidValue',
      'The value of an operation without a path must be an object with attributes.',
    );
  return operationsOfFields(kind, value);
}

function operationsOfFields(kind: Operation['kind'], fields: Fields): Operation[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    // `schemas`, and the URN of an extension, are not stored.
    /^[\w.:$-]+$/.test(name) && !name.toLowerCase().includes(':extension:')
      ? nested({ kind, path: { attribute: attributeOf(name), selection: [] }, value })
      : name.includes('[')
        ? nested({ kind, path: readPath(name), value })
        : [],
  );
}

/** The parts of `name` are set one by one, in whatever form they are sent. */
function nested(operation: Operation): Operation[] {
  const { kind, path, value } = operation;
  if (path.attribute !== 'name' || !isFields(value)) return [operation];
  return Object.entries(value).map(([part, inner]) => ({
    kind,
    path: { attribute: `name.${part.toLowerCase()}`, selection: [] },
    value: inner,
  }));
}

/** Returns the text of an operation; null if it is removed or sent as null. */
export function textOf({ kind, path, value }: Operation): string | null {
  const plain = kind === 'remove' ? null : plainOf(value);
  if (plain === null || plain === undefined) return null;
  if (typeof plain !== 'string') throw invalidValue(`${path.attribute} must be a text.`);
  return plain;
}

/** Returns the directory's own id of a resource; null if there is none. */
export function externalIdOf(operation: Operation): string | null {
  const text = textOf(operation);
  if (text !== null && text.length > external_id_length_max)
    throw invalidValue(`externalId may have at most ${external_id_length_max} characters.`);
  return text === '' ? null : text;
}

/** Returns true or false, which Entra may send as the text "False". */
export function booleanOf({ path, value }: Operation): boolean {
  const plain = plainOf(value);
  const word = typeof plain === 'string' ? plain.trim().toLowerCase() : plain;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw invalidValue(`${path.attribute} must be true or false.`);
}

/** Returns the single value of a list of one, `[{"value": "x"}]`. */
function plainOf(value: unknown): unknown {
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return isFields(one) && 'value' in one ? one['value'] : one;
}
