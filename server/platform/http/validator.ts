import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { isUuid } from './access.ts';
import { invalidMany } from './errors.ts';
import { longLists } from './long_lists.ts';
import { violationsOf } from './violations.ts';

const instant = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d)(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const email = /^[^\s@,;<>()[\]\\"]{1,64}@[^\s@,;<>()[\]\\"]+\.[^\s@,;<>()[\]\\".]+$/;

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
// Words for people that stand in schemas and check nothing.
ajv.addVocabulary(['wrong_detail']);
// `trim: true` takes the white space off both ends before the other rules of the text look at it.
ajv.addKeyword({
  keyword: 'trim',
  type: 'string',
  schemaType: 'boolean',
  before: 'maxLength',
  modifying: true,
  errors: false,
  validate: (_wanted: boolean, text: string, _schema?: unknown, at?: { parentData: Record<string | number, unknown>; parentDataProperty: string | number }) => {
    if (at !== undefined) at.parentData[at.parentDataProperty] = text.trim();
    return true;
  },
});

const compiled = new WeakMap<TSchema, ValidateFunction>();

/** True for an ISO 8601 instant with a zone that exists in the calendar, from year 1 to 9999. */
export function isInstant(text: string): boolean {
  if (!instant.test(text) || text.startsWith('0000')) return false;
  const days = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  // The stores know zones up to sixteen hours away, and the years 1 to 9999 in UTC.
  const [, zoneHours] = /[+-](\d{2}):?\d{2}$/.exec(text) ?? [];
  const milliseconds = Date.parse(text);
  // A store that keeps fewer digits rounds: the last millisecond may fall into the year 10000.
  const [year, year_rounded] = [milliseconds, milliseconds + 1].map((instant_ms) => new Date(instant_ms).getUTCFullYear());
  return Number(text.slice(8, 10)) <= days && Number(zoneHours ?? 0) < 16 && year! >= 1 && year_rounded! <= 9999;
}

/**
 * Checks a value that came from outside against a schema, with strict JSON types and without coercion; texts with `trim` are trimmed in place. Throws a 400
 * that lists every violation. Gives an object's declared fields only, so that nothing undeclared can reach a statement; fields that were absent stay absent.
 */
export function checked<Schema extends TSchema>(schema: Schema, value: unknown, prefix = ''): Static<Schema> {
  let validate = compiled.get(schema);
  if (validate === undefined) compiled.set(schema, (validate = ajv.compile(schema)));
  const tooLong = longLists(schema, value, prefix);
  if (tooLong.length > 0) throw invalidMany(tooLong);
  if (!validate(value)) throw invalidMany(violationsOf(validate.errors ?? [], prefix));
  const properties = (schema as { properties?: Record<string, unknown> }).properties;
  if (properties === undefined || typeof value !== 'object' || value === null) return value as Static<Schema>;
  const declared: Record<string, unknown> = {};
  for (const name of Object.keys(properties)) if (Object.hasOwn(value, name)) declared[name] = (value as Record<string, unknown>)[name];
  return declared as Static<Schema>;
}
