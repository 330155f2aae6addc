import { isFields } from '../../../platform/fields.ts';
import type { ToolDescription, ToolField } from './tool.ts';

/** The name under which the library's makers send. */
const their_name = /segment/gi;

/**
 * Replaces the makers' name in what a destination sends by ours: in defaults of fields and
 * settings, and in the values of presets. Removes their URLs, which have no equivalent. A value of
 * a choice stays, since the receiver knows no other. Descriptions of their actions name us instead.
 */
export function underOurName(description: ToolDescription): ToolDescription {
  const { settings, actions, presets } = description;
  return {
    ...description,
    settings: signedFields(settings),
    actions: Object.fromEntries(
      Object.entries(actions).map(([name, action]) => [
        name,
        { ...action, fields: signedFields(action.fields) },
      ]),
    ),
    presets: presets.map((preset) => {
      const { mapping, partnerAction = '' } = preset;
      if (mapping === undefined) return preset;
      const fields = Object.hasOwn(actions, partnerAction) ? actions[partnerAction]!.fields : {};
      const values = Object.entries(mapping).flatMap(([key, value]) => {
        const own = isChoice(fields[key], value) ? value : signed(value);
        return own === undefined ? [] : [[key, own] as const];
      });
      return { ...preset, mapping: Object.fromEntries(values) };
    }),
  };
}

function signedFields(fields: Record<string, ToolField>): Record<string, ToolField> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, signedField(field)]),
  );
}

/** Matches their name as a subject; before other words, such as in "Segment ID", it stays. */
const acting = /\bSegment(?= (?:will|can|should|must|sends|uses|does)\b)/g;

function signedField(told: ToolField): ToolField {
  const field = { ...told };
  if (told.description !== undefined)
    field.description = told.description.replaceAll(acting, 'Sluice');
  if (told.properties !== undefined) field.properties = signedFields(told.properties);
  const { default: given, ...rest } = field;
  if (given === undefined || isChoice(field, given)) return field;
  const own = signed(given);
  if (own === undefined) return rest;
  const { description } = field;
  const isTold = typeof given === 'string' && typeof own === 'string' && description !== undefined;
  return {
    ...field,
    default: own,
    ...(isTold ? { description: description.replaceAll(given, own) } : {}),
  };
}

function isChoice(field: ToolField | undefined, value: unknown): boolean {
  return (field?.choices ?? []).some(
    (choice) => (typeof choice === 'string' ? choice : choice.value) === value,
  );
}

/** Returns the value under our name; undefined: one of their URLs. Paths into an event stay. */
function signed(value: unknown): unknown {
  if (typeof value === 'string') {
    if (value.search(their_name) === -1) return value;
    return /^https?:/.test(value) ? undefined : value.replaceAll(their_name, inCaseOf);
  }
  if (Array.isArray(value)) return value.map(signed);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === '@path' ? one : signed(one)]),
  );
}

function inCaseOf(name: string): string {
  if (name === name.toUpperCase()) return 'SLUICE';
  return name === name.toLowerCase() ? 'sluice' : 'Sluice';
}
