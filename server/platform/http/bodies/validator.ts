import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { isInstant } from '../../instant.ts';
import { isUuid } from '../../uuid.ts';
import { invalidMany } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { cutTexts, longLists } from './long_lists.ts';
import { violationsOf } from './violations.ts';

// Words joined by single dots before the @, and after it labels of any script that begin and end
// with a letter or digit. No white space, control or invisible character.
const word = String.raw`[^\s\p{C}@,:;<>()[\]\\".]+`;
const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?`;
const email = new RegExp(`^(?=[^@]{1,64}@)${word}(?:\\.${word})*@(?:${label}\\.)+${label}$`, 'u');

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
  useDefaults: false,
  coerceTypes: false,
  ownProperties: true,
});
ajv.addFormat('uuid', isUuid);
ajv.addFormat('date-time', isInstant);
ajv.addFormat('email', (text) => text.length <= 254 && email.test(text));
// Keywords of schemas that check nothing: for people, and for the document.
ajv.addVocabulary(['wrong_detail', 'refuses_empty']);
// Limits of an instant, like `minimum` and `maximum` of a number. `format` reports a text that is
// no instant.
for (const [keyword, isWithin] of [
  ['not_before', (at: number, bound: number) => at >= bound],
  ['not_after', (at: number, bound: number) => at <= bound],
] as const)
  ajv.addKeyword({
    keyword,
    type: 'string',
    schemaType: 'string',
    validate: (bound: string, text: string) =>
      !isInstant(text) || isWithin(Date.parse(text), Date.parse(bound)),
  });
// Matches invisible texts: white space, joiners, fillers, the empty braille cell.
const unseen = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u;
// `trim: true` removes surrounding white space before the other rules check the text; an invisible
// text becomes empty.
ajv.addKeyword({
  keyword: 'trim',
  type: 'string',
  schemaType: 'boolean',
  before: 'maxLength',
  modifying: true,
  errors: false,
  validate: (
    _wanted: boolean,
    text: string,
    _schema?: unknown,
    at?: { parentData: Record<string | number, unknown>; parentDataProperty: string | number },
  ) => {
    if (at !== undefined)
      at.parentData[at.parentDataProperty] = unseen.test(text) ? '' : text.trim();
    return true;
  },
});

const compiled = new WeakMap<TSchema, ValidateFunction>();
/**
 * By text: Ajv caches everything it compiles for ever, so a schema that is created for each request
 * must not be compiled again.
 */
const compiledByText = new Map<string, ValidateFunction>();

function compile(schema: TSchema): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = compiledByText.get(text) ?? ajv.compile(schema);
  compiledByText.set(text, validate);
  compiled.set(schema, validate);
  return validate;
}

/**
 * Checks an untrusted value against a schema, with strict JSON types and without coercion; texts
 * with `trim` are trimmed in place. Throws a 400 that lists every violation: those of `found`,
 * which are already known (texts that no store can keep), and then those of other fields. Returns
 * only an object's declared fields, so that nothing undeclared can reach a statement; absent fields
 * stay absent.
 */
export function checked<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  prefix = '',
  found: readonly Violation[] = [],
): Static<Schema> {
  const validate = compiled.get(schema) ?? compile(schema);
  cutTexts(schema, value);
  const tooLong = longLists(schema, value, prefix);
  if (tooLong.length > 0) throw invalidMany(tooLong);
  const wrong = validate(value) ? [] : violationsOf(validate.errors ?? [], prefix);
  const known = new Set(found.map(({ attr }) => attr));
  if (found.length + wrong.length > 0)
    throw invalidMany([...found, ...wrong.filter(({ attr }) => !known.has(attr))]);
  const properties = (schema as { properties?: Record<string, unknown> }).properties;
  if (properties === undefined || typeof value !== 'object' || value === null)
    return value as Static<Schema>;
  const declared: Record<string, unknown> = {};
  for (const name of Object.keys(properties))
    if (Object.hasOwn(value, name)) declared[name] = (value as Record<string, unknown>)[name];
  return declared as Static<Schema>;
}
