import type { Values } from '../form/values.ts';

/** The parts of a plugin's settings field that a form needs. */
export type SettingField = {
  key: string;
  label: string;
  type: 'string' | 'json' | 'attachment' | 'choice';
  hint: string | undefined;
  is_required: boolean;
  is_secret: boolean;
  choices: string[];
  initial: string;
  /** The field is shown if all of these are true; undefined: always. */
  visible_if: Condition[] | undefined;
  /** The field is also required if all of these are true. */
  required_if: Condition[] | undefined;
};
/** The key of another field, and the text that it must have; without one: any text. */
type Condition = [key: string, text?: string];

/**
 * Returns the fields of a `config_schema`, in their order: a list of fields, or an object of fields
 * by key. Entries without a key (a block of text) are left out.
 */
export function settingFields(config_schema: unknown): SettingField[] {
  const items = Array.isArray(config_schema)
    ? config_schema
    : isObject(config_schema)
      ? Object.entries(config_schema)
          .map(([key, item]) => (isObject(item) ? { ...item, key } : undefined))
          .toSorted((one, other) => orderOf(one) - orderOf(other))
      : [];
  return items.flatMap((item: unknown) => (isObject(item) ? fieldOf(item) : []));
}

function fieldOf(item: Record<string, unknown>): SettingField[] {
  const { key, type, choices } = item;
  if (typeof key !== 'string' || key === '') return [];
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return [
    {
      key,
      label: text(item['name']) ?? key,
      type: type === 'json' || type === 'attachment' || type === 'choice' ? type : 'string',
      hint: text(item['hint']),
      is_required: item['required'] === true,
      is_secret: item['secret'] === true,
      choices: Array.isArray(choices) ? choices.filter((one) => typeof one === 'string') : [],
      initial: shownSetting(item['default']),
      visible_if: conditionsOf(item['visible_if']),
      required_if: conditionsOf(item['required_if']),
    },
  ];
}

/** Reads a manifest's pairs; an invalid pair is always true, as in earlier servers. */
function conditionsOf(pairs: unknown): Condition[] | undefined {
  if (!Array.isArray(pairs)) return undefined;
  return pairs.flatMap((pair: unknown): Condition[] => {
    if (!Array.isArray(pair) || typeof pair[0] !== 'string') return [];
    return [pair.length === 1 ? [pair[0]] : [pair[0], shownSetting(pair[1])]];
  });
}

/**
 * Returns the fields to show for the current values of the others, and whether each is required. A
 * missing value counts as the field's default.
 */
export function askedFields(
  fields: SettingField[],
  valueOf: (key: string) => string | undefined,
): SettingField[] {
  const initial = new Map(fields.map((field) => [field.key, field.initial]));
  const textOf = (key: string) => valueOf(key) ?? initial.get(key) ?? '';
  const holds = (conditions: Condition[]) =>
    conditions.every(([key, text]) =>
      text === undefined ? textOf(key) !== '' : textOf(key) === text,
    );
  return fields
    .filter(({ visible_if }) => visible_if === undefined || holds(visible_if))
    .map((field) => ({
      ...field,
      is_required:
        field.is_required || (field.required_if !== undefined && holds(field.required_if)),
    }));
}

/** Returns a setting's value for a form. */
export function shownSetting(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A file in the settings, with its contents in base64. */
export type Attachment = { file_name: string; content_type: string; contents: string };

/**
 * Returns the settings to send: an empty field removes its value, but an empty secret keeps the
 * stored one. Files are sent if they were chosen or removed (null).
 */
export function settingsOf(
  fields: SettingField[],
  values: Values,
  files: Record<string, Attachment | null | undefined> = {},
): Record<string, string | Attachment | null> {
  return Object.fromEntries(
    fields.flatMap(({ key, type, is_secret }): [string, string | Attachment | null][] => {
      const value = values[`config__${key}`];
      if (type === 'attachment') return files[key] === undefined ? [] : [[key, files[key]]];
      if (typeof value !== 'string') return [];
      if (value === '') return is_secret ? [] : [[key, null]];
      return [[key, value]];
    }),
  );
}

function orderOf(item: Record<string, unknown> | undefined): number {
  const order = item?.['order'];
  return typeof order === 'number' ? order : Infinity;
}

/** Returns true for a JSON object that is no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
