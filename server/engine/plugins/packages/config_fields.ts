import type { ConfigField } from '../plugin.ts';
import { isGiven, valueFault } from './config_value.ts';
import { isFields } from '../../../platform/fields.ts';
import { show } from './faults.ts';
import type { Faults } from './faults.ts';

const types = ['string', 'json', 'attachment', 'choice'];
const order_missing = 999_999;

type Check = { must: string; holds(value: unknown): boolean };

const text: Check = { must: 'text', holds: (value) => typeof value === 'string' };
const truth: Check = { must: 'true or false', holds: (value) => typeof value === 'boolean' };
const conditions: Check = {
  must: 'a list of pairs, as [["field", "value"]], or [["field"]] for any value',
  holds: (value) =>
    Array.isArray(value) &&
    value.every(
      (pair) =>
        Array.isArray(pair) &&
        (pair.length === 1 || pair.length === 2) &&
        typeof pair[0] === 'string',
    ),
};

const checks: Record<keyof ConfigField, Check> = {
  key: {
    must: 'a name of 1 to 200 characters, not __proto__',
    holds: (value) =>
      typeof value === 'string' && /^[^]{1,200}$/.test(value) && value !== '__proto__',
  },
  name: text,
  type: { must: `one of ${types.join(', ')}`, holds: (value) => types.includes(value as string) },
  default: { must: 'anything', holds: () => true },
  hint: text,
  markdown: text,
  order: { must: 'a number', holds: (value) => typeof value === 'number' },
  required: truth,
  secret: truth,
  choices: {
    must: 'a list of texts',
    holds: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'),
  },
  required_if: conditions,
  visible_if: conditions,
  site: truth,
};

/**
 * Reads the fields of a configuration schema into the list layout. The schema is a list of fields
 * with their keys, or the older object of fields by key, which is sorted by `order`. Guarantee:
 * without faults, keys are unique, a field without a key is a block of markdown, and a choice has
 * choices and is no secret.
 */
export function readFields(schema: unknown, faults: Faults): ConfigField[] {
  const items = isFields(schema)
    ? fromObject(schema)
    : Array.isArray(schema)
      ? schema.map((item, index) => ({ path: `config[${index}]`, key: undefined, item }))
      : undefined;
  if (items === undefined) {
    faults.add(
      'config',
      `must be a list of fields or an object of fields by key, not ${show(schema)}`,
    );
    return [];
  }
  const keys = new Set<string>();
  return items.flatMap(({ path, key, item }) => {
    if (!isFields(item)) {
      faults.add(path, `must be an object, not ${show(item)}`);
      return [];
    }
    const field = readField(path, key === undefined ? item : { ...item, key }, faults);
    if (field.key !== undefined && keys.has(field.key))
      faults.add(
        `${path}.key`,
        `must be different from the others; ${show(field.key)} occurs twice`,
      );
    if (field.key !== undefined) keys.add(field.key);
    return [field];
  });
}

function fromObject(schema: Record<string, unknown>) {
  const order = (item: unknown) =>
    isFields(item) && typeof item['order'] === 'number' ? item['order'] : order_missing;
  return Object.entries(schema)
    .map(([key, item]) => ({ path: `config.${key}`, key, item }))
    .sort((one, other) => order(one.item) - order(other.item));
}

/** Values are text: a number or boolean becomes its text, and so does any value of a json field. */
function textOf(value: unknown, type?: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return type === 'json' && typeof value !== 'string' ? JSON.stringify(value) : value;
}

/** A null counts as an absent key. */
function readField(path: string, item: Record<string, unknown>, faults: Faults): ConfigField {
  const field: Record<string, unknown> = {};
  for (const [key, check] of Object.entries(checks)) {
    const value = Object.hasOwn(item, key) ? item[key] : undefined;
    if (value === undefined || value === null) continue;
    if (check.holds(value)) field[key] = value;
    else faults.add(`${path}.${key}`, `must be ${check.must}, not ${show(value)}`);
  }
  if (
    field['key'] === undefined &&
    field['markdown'] === undefined &&
    (item['key'] ?? null) === null
  )
    faults.add(path, 'needs a key, or markdown to be shown');
  if (field['type'] !== 'attachment' && field['default'] !== undefined)
    field['default'] = textOf(field['default'], field['type']);
  for (const key of ['required_if', 'visible_if']) {
    const pairs = field[key] as unknown[][] | undefined;
    if (pairs !== undefined)
      field[key] = pairs.map(([name, ...value]) => [name, ...value.map((one) => textOf(one))]);
  }
  if (field['type'] === 'choice') {
    if ((item['choices'] ?? null) === null)
      faults.add(`${path}.choices`, 'is required for the type choice');
    if (field['secret'] === true)
      faults.add(`${path}.secret`, 'cannot be true for the type choice');
  }
  checkDefault(path, field, faults);
  return field;
}

/** An invalid default would be refused for every user who leaves the field empty. */
function checkDefault(path: string, field: ConfigField, faults: Faults): void {
  if (field.key === undefined || !isGiven(field.default)) return;
  // A fault of the choices is reported there.
  if (field.type === 'choice' && field.choices === undefined) return;
  const fault = valueFault(field, field.default);
  if (fault === undefined) return;
  const must = fault.detail.replace(/^Must/, 'must').replace(/\.$/, '');
  faults.add(`${path}.default`, `${must}, not ${show(field.default)}`);
}
