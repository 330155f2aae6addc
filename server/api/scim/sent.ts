import type { FastifyRequest } from 'fastify';
import { jsonBody } from '../../platform/http/bodies/body.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { attributeOf, readPath } from './filter.ts';
import type { Path } from './filter.ts';
import { ScimRefused, invalidValue } from './refusal.ts';

/** One thing that is asked for; `value` is undefined where something is removed as a whole. */
export type Operation = { kind: 'add' | 'replace' | 'remove'; path: Path; value: unknown };

const external_id_length_max = 500;
const operations_max = 10_000;

/** The body as an object; throws 400 for anything else. */
export function objectBody(request: FastifyRequest): Fields {
  const sent = jsonBody(request);
  if (!isFields(sent))
    throw new ScimRefused(400, 'invalidSyntax', 'The body has to be a JSON object.');
  return sent;
}

/** A whole resource as the operations that set each of its attributes. */
export function operationsOfResource(sent: Fields): Operation[] {
  return operationsOfFields('replace', sent);
}

/**
 * The operations of a PATCH in their order, one for each attribute. Their kind is read in any case,
 * and without a path the names in the value are the paths, as Okta and Entra send them.
 */
export function operationsOfPatch(sent: Fields): Operation[] {
  const list = Object.entries(sent).find(([name]) => name.toLowerCase() === 'operations')?.[1];
  if (!Array.isArray(list) || list.length === 0 || list.length > operations_max)
    throw new ScimRefused(
      400,
      'invalidSyntax',
      `A PATCH has a list of 1 to ${operations_max} Operations.`,
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
      'The op of an operation is add, replace or remove.',
    );
  if (path !== undefined && path !== null && typeof path !== 'string')
    throw new ScimRefused(400, 'invalidPath', 'The path of an operation is a text.');
  if (path !== undefined && path !== null && path !== '')
    return nested({ kind, path: readPath(path), value });
  if (!isFields(value))
    throw new ScimRefused(
      400,
      kind === 'remove' ? 'invalidPath' : 'invalidValue',
      'An operation without a path has an object with attributes as its value.',
    );
  return operationsOfFields(kind, value);
}

function operationsOfFields(kind: Operation['kind'], fields: Fields): Operation[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    // `schemas`, and the URN of an extension, are attributes that nobody keeps.
    /^[\w.:$-]+$/.test(name) && !name.toLowerCase().includes(':extension:')
      ? nested({ kind, path: { attribute: attributeOf(name), selection: [] }, value })
      : name.includes('[')
        ? nested({ kind, path: readPath(name), value })
        : [],
  );
}

/** `name` is set by its parts, however they are sent. */
function nested(operation: Operation): Operation[] {
  const { kind, path, value } = operation;
  if (path.attribute !== 'name' || !isFields(value)) return [operation];
  return Object.entries(value).map(([part, inner]) => ({
    kind,
    path: { attribute: `name.${part.toLowerCase()}`, selection: [] },
    value: inner,
  }));
}

/** The text of an operation; null where it is removed or sent as null. */
export function textOf({ kind, path, value }: Operation): string | null {
  const plain = kind === 'remove' ? null : plainOf(value);
  if (plain === null || plain === undefined) return null;
  if (typeof plain !== 'string') throw invalidValue(`${path.attribute} has to be a text.`);
  return plain;
}

/** The identifier by which the directory knows something; null for none. */
export function externalIdOf(operation: Operation): string | null {
  const text = textOf(operation);
  if (text !== null && text.length > external_id_length_max)
    throw invalidValue(`externalId may have ${external_id_length_max} characters.`);
  return text === '' ? null : text;
}

/** Yes or no, which Entra may send as the text "False". */
export function booleanOf({ path, value }: Operation): boolean {
  const plain = plainOf(value);
  const word = typeof plain === 'string' ? plain.trim().toLowerCase() : plain;
  if (word === true || word === 'true') return true;
  if (word === false || word === 'false') return false;
  throw invalidValue(`${path.attribute} has to be true or false.`);
}

/** A single value that was sent as a list of one, `[{"value": "x"}]`, as itself. */
function plainOf(value: unknown): unknown {
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return isFields(one) && 'value' in one ? one['value'] : one;
}
