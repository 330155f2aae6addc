import type { DestinationType } from '../../server/api/destinations/schema.ts';

/** The schema of a key in a config. */
export type KeySchema = {
  type?: string | string[];
  enum?: (string | null)[];
  items?: { enum?: string[] };
  default?: unknown;
  title?: string;
  description?: string;
  examples?: unknown[];
  minLength?: number;
  maxLength?: number;
  writeOnly?: boolean;
};
/** A config in the API's form. */
export type Config = Record<string, unknown>;
/**
 * The typed values, by key: a text, or whether a box is ticked. Null removes a stored secret.
 * Untouched keys are absent.
 */
export type Typed = Record<string, string | boolean | null>;
/** The kind of a form's field. */
export type Kind = 'text' | 'long_text' | 'number' | 'choice' | 'box' | 'list' | 'pairs';

/** Longer texts are keys and certificates, which have several lines. */
const line_characters_max = 4_096;

/** Returns the keys of a destination's config with their schemas, in order. */
export function keysOf({ config }: DestinationType): [string, KeySchema][] {
  return Object.entries((config as { properties: Record<string, KeySchema> }).properties);
}

/** Returns true if the destination requires the key, and has no default for it. */
export function isRequired({ config }: DestinationType, key: string): boolean {
  return ((config as { required?: string[] }).required ?? []).includes(key);
}

/** Returns true if the destination requires the key, and not as an empty text. */
export function mustBeFilled(type: DestinationType, key: string): boolean {
  return isRequired(type, key) && !untouchedValues(type).some(([name]) => name === key);
}

/** Returns the kind of a key's field. */
export function kindOf({ type, enum: choices, items, maxLength = 0 }: KeySchema): Kind {
  const name = [type ?? 'string'].flat().find((one) => one !== 'null');
  if (choices !== undefined || items?.enum !== undefined) return 'choice';
  if (name === 'boolean') return 'box';
  if (name === 'integer' || name === 'number') return 'number';
  if (name === 'array') return 'list';
  if (name === 'object') return 'pairs';
  return maxLength > line_characters_max ? 'long_text' : 'text';
}

function isNullable({ type }: KeySchema): boolean {
  return [type].flat().includes('null');
}

/** Returns the choice that a field shows before anybody chooses; undefined for other keys. */
function firstChoice(schema: KeySchema): string | undefined {
  return isNullable(schema) ? undefined : (schema.enum?.[0] ?? undefined);
}

/** Returns the field's content for a stored value, or for the default without one. */
export function shownValue(schema: KeySchema, stored: unknown): string | boolean {
  const value = stored === undefined ? (schema.default ?? firstChoice(schema)) : stored;
  if (kindOf(schema) === 'box') return value === true;
  const order = schema.items?.enum ?? [];
  if (Array.isArray(value))
    return value.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)).join('\n');
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/**
 * Returns the typed value in the API's form; undefined if nothing was typed. A text that is no
 * number stays text, so that the API reports the fault.
 */
export function valueOf(schema: KeySchema, typed: string | boolean): unknown {
  if (typeof typed === 'boolean') return typed;
  const kind = kindOf(schema);
  const lines = typed.split('\n').filter((line) => line.trim() !== '');
  if (kind === 'list' || schema.items?.enum !== undefined)
    return lines.length === 0 ? undefined : lines;
  if (kind === 'pairs')
    return lines.length === 0
      ? undefined
      : Object.fromEntries(
          lines.map((line) => {
            const at = line.indexOf(':');
            return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
          }),
        );
  if (typed === '') return undefined;
  return kind === 'number' && /^-?\d+$/.test(typed.trim()) ? Number(typed) : typed;
}

/** Returns the hint of a key for a form, which has no null: a field is empty, or None is chosen. */
export function hintOf(schema: KeySchema): string {
  const kind = kindOf(schema);
  const said = (schema.description ?? '').replace(
    /If null( or empty)?,/,
    kind === 'choice' ? 'If None,' : 'If empty,',
  );
  return kind === 'list' ? `${said} One per line.`.trim() : said;
}

/**
 * Returns the hint of a secret. An empty field keeps a stored secret, whatever it means for a new
 * destination.
 */
export function secretHint(schema: KeySchema, is_stored: boolean): string {
  const { description = '' } = schema;
  const pairs = kindOf(schema) === 'pairs' ? ' One per line, as `Name: value`.' : '';
  if (!is_stored) return `${description}${pairs}`.trim();
  const of_any = description.replace(/ ?(?:If|Leave it) empty[^.]*\./g, '');
  return `${of_any}${pairs} A value is stored. Leave the field empty to keep it.`.trim();
}

/** Returns the meaning of an emptied field. */
function emptyValue(schema: KeySchema): unknown {
  if (isNullable(schema)) return null;
  return schema.default ?? '';
}

/** Returns the text or box of a field: the typed value, or else the stored one. */
export function fieldValue(
  key: string,
  schema: KeySchema,
  typed: Typed,
  stored: Config | undefined,
): string | boolean {
  return typed[key] ?? shownValue(schema, stored?.[key]);
}

/** Returns true if the key has a meaning with the current values of the others. */
export function isShown(
  type: DestinationType,
  key: string,
  typed: Typed,
  stored: Config | undefined,
): boolean {
  const schemas = Object.fromEntries(keysOf(type));
  return type.only_with.every(({ keys, key: other, values }) => {
    if (!keys.includes(key)) return true;
    const chosen = String(fieldValue(other, schemas[other] ?? {}, typed, stored));
    return values.length === 0 ? chosen !== '' : values.includes(chosen);
  });
}

/** Returns the options of a choice, for the chosen format. */
export function choicesOf(
  { formats }: DestinationType,
  key: string,
  schema: KeySchema,
  chosen: (key: string) => string | boolean,
): (string | null)[] {
  if (schema.items?.enum !== undefined) return ['', ...combinationsOf(schema.items.enum)];
  const choices = schema.enum ?? [];
  if (key !== 'compression') return choices;
  const format = formats.find((one) => chosen(one.key) === one.format);
  return format === undefined
    ? choices
    : choices.filter((one) => one === null || format.compressions.includes(one));
}

/** Returns every combination of the values, each value on a line. */
function combinationsOf([first, ...others]: string[]): string[] {
  if (first === undefined) return [];
  const rest = combinationsOf(others);
  return [first, ...rest, ...rest.map((one) => `${first}\n${one}`)];
}

/** Returns a key with its changed value; undefined if it stays unchanged. */
function changeOf(
  [key, schema]: [string, KeySchema],
  typed: Typed,
  stored: Config | undefined,
): [string, unknown] | undefined {
  const given = typed[key];
  if (schema.writeOnly === true) {
    if (given === null) return stored === undefined ? undefined : [key, null];
    if (given === undefined) return undefined;
    const value = valueOf(schema, given);
    return value === undefined ? undefined : [key, value];
  }
  if (given === undefined || given === null) return undefined;
  const value = valueOf(schema, given);
  if (stored === undefined) return value === undefined ? undefined : [key, value];
  const after = value ?? emptyValue(schema);
  const before = stored[key] ?? emptyValue(schema);
  return JSON.stringify(after) === JSON.stringify(before) ? undefined : [key, after];
}

/**
 * Returns the config to send: the typed values of a new destination, the differences of a stored
 * one. It never has untouched secrets, or keys without a meaning beside the others.
 */
export function configToSend(
  type: DestinationType,
  typed: Typed,
  stored: Config | undefined,
): Config {
  return Object.fromEntries([
    ...(stored === undefined ? untouchedValues(type) : []),
    ...keysOf(type)
      .filter(([key]) => isShown(type, key, typed, stored))
      .flatMap((entry) => {
        const change = changeOf(entry, typed, stored);
        return change === undefined ? [] : [change];
      }),
  ]);
}

/**
 * Returns the values of required keys that nobody has to fill in: the choice that is shown, and
 * texts that may be empty, such as the root of a bucket.
 */
function untouchedValues(type: DestinationType): [string, string][] {
  return keysOf(type)
    .filter(
      ([key, schema]) =>
        isRequired(type, key) && (schema.minLength ?? 0) === 0 && schema.type === 'string',
    )
    .map(([key, schema]) => [key, firstChoice(schema) ?? '']);
}

/**
 * Returns the titles of the changed keys of the address, after which each stored secret must be
 * entered again; none for a new destination.
 */
export function leadsElsewhere(
  type: DestinationType,
  typed: Typed,
  stored: Config | undefined,
): string[] {
  if (stored === undefined) return [];
  const change = configToSend(type, typed, stored);
  return keysOf(type)
    .filter(
      ([key]) =>
        type.where_keys.includes(key) &&
        Object.hasOwn(change, key) &&
        (!Object.hasOwn(type.less_safe, key) || change[key] === type.less_safe[key]),
    )
    .map(([key, { title = key }]) => title);
}

/** Returns the type with only the keys of a connection. */
export function connectionPart(type: DestinationType): DestinationType {
  return partOf(type, (key) => type.connection_keys.includes(key));
}

/**
 * Returns the type with the keys that an export has beside a connection, or only the required ones.
 */
export function exportPart(
  type: DestinationType,
  { is_required = false }: { is_required?: boolean } = {},
): DestinationType {
  return partOf(
    type,
    (key) => !type.connection_keys.includes(key) && (!is_required || isRequired(type, key)),
  );
}

function partOf(type: DestinationType, has: (key: string) => boolean): DestinationType {
  const required = (type.config as { required?: string[] }).required ?? [];
  const properties = Object.fromEntries(keysOf(type).filter(([key]) => has(key)));
  return {
    ...type,
    config: { ...type.config, required: required.filter(has), properties },
    only_with: type.only_with.filter(({ key }) => has(key)),
  };
}
