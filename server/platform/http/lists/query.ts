import type { FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { invalid, invalidMany } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { checked } from '../bodies/validator.ts';

/**
 * Returns the checked query string, read strictly by the schema: whole numbers are digits, booleans
 * `true` or `false`, and parameters are unique. Throws a 400 that lists every violation; ignores
 * undeclared parameters; absent ones stay absent.
 */
export function query<Schema extends TObject>(
  request: FastifyRequest,
  schema: Schema,
): Static<Schema> {
  const given = request.query as Record<string, unknown>;
  const values: Record<string, unknown> = {};
  const violations: Violation[] = [];
  for (const [name, property] of Object.entries(
    schema.properties as Record<string, { type?: string }>,
  )) {
    const text = given[name];
    if (text === undefined) continue;
    if (typeof text !== 'string')
      violations.push({
        attr: name,
        code: 'invalid_input',
        detail: 'Send this parameter only once.',
      });
    else if (text.includes('\0'))
      violations.push({
        attr: name,
        code: 'null_characters_not_allowed',
        detail: 'Null characters are not allowed.',
      });
    else values[name] = read(property.type, text);
  }
  if (violations.length > 0) throw invalidMany(violations);
  return checked(schema, values);
}

/**
 * Returns true if the request asks for every check without an effect. Throws 400 for a value other
 * than `true` or `false`.
 */
export function isValidateOnly(request: FastifyRequest): boolean {
  const value = (request.query as Record<string, unknown>)['validate_only'];
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw invalid('validate_only', 'invalid_input', 'Must be true or false.');
}

/** Text of the wrong kind stays text, so that the schema names the fault. */
function read(type: string | undefined, text: string): unknown {
  // Any number of digits: a too large number is out of range and not a wrong word.
  if (type === 'integer')
    return /^-?\d+$/.test(text)
      ? Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(text)))
      : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
