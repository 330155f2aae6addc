import type { Values } from '../form/values.ts';

/** A field of a plugin's settings, as far as a form needs it. */
export type SettingField = {
  key: string;
  label: string;
  type: 'string' | 'json' | 'attachment' | 'choice';
  hint: string | undefined;
  is_required: boolean;
  is_secret: boolean;
  choices: string[];
  initial: string;
};

/**
 * The fields that a `config_schema` asks for, in their order: a list of fields, or an object of
 * fields by key. What is no field with a key (a block of text) is left out.
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
    },
  ];
}

/** A value of the settings as a form shows it. */
export function shownSetting(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * What is sent of the settings: an empty field removes its value, but an empty secret keeps the
 * one that is stored, and attachments stay.
 */
export function settingsOf(fields: SettingField[], values: Values): Record<string, string | null> {
  return Object.fromEntries(
    fields.flatMap(({ key, type, is_secret }): [string, string | null][] => {
      const value = values[`config__${key}`];
      if (type === 'attachment' || typeof value !== 'string') return [];
      if (value === '') return is_secret ? [] : [[key, null]];
      return [[key, value]];
    }),
  );
}

function orderOf(item: Record<string, unknown> | undefined): number {
  const order = item?.['order'];
  return typeof order === 'number' ? order : Infinity;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
