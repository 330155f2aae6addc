import type { ConfigField } from '../plugin.ts';
import type { ToolField } from './tool.ts';

/** The setting that holds the mappings. */
export const mappings_key = 'mappings';
/** The setting that allows names with `$`. */
export const dollar_key = 'dollar_properties';
const dollar_choices = ['leave out', 'send'];

// Some secrets are plain texts in the library.
const secret_names = /token|secret|password|passphrase|api_?key|private_?key|credential|signature/i;
const choices_max = 200;
const hint_length_max = 1_000;

/** Returns the fields of a tool's settings, followed by its mappings. */
export function configFields(settings: Record<string, ToolField>): ConfigField[] {
  return [
    ...Object.entries(settings).map(([key, field]) => configField(key, field)),
    {
      key: mappings_key,
      name: 'Mappings',
      type: 'json',
      required: true,
      hint: 'Which events are sent, and with which data.',
    },
    {
      key: dollar_key,
      name: 'Properties whose names begin with $',
      type: 'choice',
      choices: dollar_choices,
      default: dollar_choices[0],
      hint: 'If sent, tools get the properties that SDKs add.',
    },
  ];
}

function configField(key: string, field: ToolField): ConfigField {
  const { label, description, type, required, multiple, default: standard } = field;
  const choices = type === 'boolean' ? ['true', 'false'] : choicesOf(field);
  const isChoice = choices !== undefined && multiple !== true;
  const visible_if = conditionsOf(field);
  const secret = !isChoice && (type === 'password' || secret_names.test(key));
  const initial = standard === undefined ? undefined : textOf(standard);
  return {
    key,
    name: label ?? key,
    type: multiple === true ? 'json' : isChoice ? 'choice' : 'string',
    ...(description === undefined ? {} : { hint: description.slice(0, hint_length_max) }),
    ...(required === true ? { required: true } : {}),
    ...(secret ? { secret: true } : {}),
    ...(isChoice ? { choices } : {}),
    ...(initial === undefined || (isChoice && !choices.includes(initial))
      ? {}
      : { default: initial }),
    ...(visible_if === undefined ? {} : { visible_if }),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Undefined: any text may be given. A list that no form could show is omitted. */
function choicesOf({ choices = [] }: ToolField): string[] | undefined {
  const values = choices.map((choice) => (typeof choice === 'string' ? choice : choice.value));
  return values.length === 0 || values.length > choices_max ? undefined : values;
}

/** Our forms support fields that depend on exact values of other fields, all of them at once. */
function conditionsOf({ depends_on }: ToolField): [string, string][] | undefined {
  const conditions = depends_on?.conditions ?? [];
  const isPlain = conditions.every(
    ({ operator, value }) => operator === 'is' && !Array.isArray(value),
  );
  const isAll = depends_on?.match !== 'any' || conditions.length === 1;
  return conditions.length > 0 && isPlain && isAll
    ? conditions.map(({ fieldKey, value }) => [fieldKey, textOf(value)])
    : undefined;
}

/**
 * Returns settings in the library's form: texts are converted to their fields' types. Our own
 * settings are omitted.
 */
export function toolSettings(
  fields: Record<string, ToolField>,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const values = Object.entries(fields).flatMap(
    ([key, { type, multiple }]): [string, unknown][] => {
      const text = Object.hasOwn(config, key) ? config[key] : undefined;
      if (typeof text !== 'string' || text === '') return [];
      if (multiple === true) return [[key, JSON.parse(text)]];
      if (type === 'boolean') return [[key, text === 'true']];
      return [[key, type === 'number' || type === 'integer' ? Number(text) : text]];
    },
  );
  return Object.fromEntries(values);
}
