import type { Static, TObject } from 'typebox';
import { isFields } from '../../platform/fields.ts';
import { checked } from '../../platform/http/bodies/validator.ts';
import { unknownDetail, unknownNames } from '../../platform/http/unknown/unknown_names.ts';

/**
 * Reads the arguments of a call, and checks them by the schema of the tool like a body of the API.
 * Models send null for absent arguments, and numbers and booleans as texts; these are converted.
 * Throws a 400 that names every other fault, and the nearest known name for an unknown argument.
 */
export function readArguments<Input extends TObject>(input: Input, sent: unknown): Static<Input> {
  const properties = input.properties as Record<string, { type?: string }>;
  const required = (input.required ?? []) as string[];
  const isLeftOut = (name: string, value: unknown) =>
    value === null && Object.hasOwn(properties, name) && !required.includes(name);
  const meant = isFields(sent)
    ? Object.fromEntries(
        Object.entries(sent)
          .filter(([name, value]) => !isLeftOut(name, value))
          .map(([name, value]) => [name, read(properties[name]?.type, value)]),
      )
    : (sent ?? {});
  const unknown = unknownNames(input, meant).map(({ path, known }) => ({
    attr: path.join('__'),
    code: 'unknown_field' as const,
    detail: unknownDetail('argument', path.at(-1)!, known),
  }));
  return checked(input, meant, '', unknown);
}

/** Removes `arguments` that are null, because the protocol's library refuses null. */
export function withoutNullArguments(message: unknown): unknown {
  if (!isFields(message) || !isFields(message['params'])) return message;
  const { arguments: given, ...params } = message['params'];
  return given === null ? { ...message, params } : message;
}

function read(type: string | undefined, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (type === 'boolean' && /^(?:true|false)$/.test(value)) return value === 'true';
  return value;
}
