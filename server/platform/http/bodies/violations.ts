import type { ErrorObject } from 'ajv';
import type { ErrorCode } from '../error_codes.ts';
import type { Violation } from '../errors.ts';
import { unknownDetail } from '../unknown/unknown_names.ts';

type Told = { code: ErrorCode; detail: string };

const blank: Told = { code: 'blank', detail: 'This field may not be blank.' };

const type_details: Record<string, string> = {
  string: 'Must be text.',
  integer: 'Must be a whole number.',
  number: 'Must be a number.',
  boolean: 'Must be true or false.',
  object: 'Must be an object.',
  array: 'Must be a list.',
};

const format_details: Record<string, string> = {
  uuid: 'Must be a UUID.',
  'date-time': 'Must be a timestamp with a time zone, such as 2026-01-31T12:00:00Z.',
  email: 'Must be an e-mail address.',
};

/**
 * Returns the name of a field in errors: the steps of a JSON pointer and a last name joined with
 * `__`; null for the whole.
 */
export function attrOf(pointer: string, last?: string): string | null {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (last !== undefined) steps.push(last);
  return steps.length === 0 ? null : steps.join('__');
}

/**
 * Returns every violation that ajv found (`allErrors`, `verbose`), in the order of the schema, one
 * per field and code.
 */
export function violationsOf(errors: readonly ErrorObject[], prefix = ''): Violation[] {
  const unions = [...new Set(errors.filter(isUnion).map((error) => `${error.schemaPath}/`))];
  // For a text that is too long, only the length is reported: a wrong address format follows from
  // it.
  const too_long = new Set(
    errors.filter(({ keyword }) => keyword === 'maxLength').map(({ instancePath }) => instancePath),
  );
  const told = new Map<string, Violation>();
  for (const error of errors) {
    // The errors of a union's branches name each branch's requirement; the union's own error covers
    // them once.
    if (unions.some((path) => error.schemaPath.startsWith(path) && error.schemaPath !== path))
      continue;
    if (error.keyword === 'format' && too_long.has(error.instancePath)) continue;
    const violation = {
      attr: attrOf(prefix + error.instancePath, missingOrUnknown(error)),
      ...tell(error),
    };
    const key = `${violation.attr} ${violation.code}`;
    if (!told.has(key)) told.set(key, violation);
  }
  return [...told.values()];
}

function isUnion(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.keyword === 'oneOf';
}

function missingOrUnknown(error: ErrorObject): string | undefined {
  if (error.keyword === 'required') return error.params['missingProperty'] as string;
  return error.keyword === 'additionalProperties'
    ? (error.params['additionalProperty'] as string)
    : undefined;
}

function tell(error: ErrorObject): Told {
  const { keyword, params, data } = error;
  if (data === null && keyword !== 'required')
    return { code: 'null', detail: 'This field may not be null.' };
  switch (keyword) {
    case 'required':
      return { code: 'required', detail: 'This field is required.' };
    case 'additionalProperties':
      return {
        code: 'unknown_field',
        detail: unknownDetail('field', String(params['additionalProperty']), knownOf(error)),
      };
    case 'type':
      return typeTold(String([params['type']].flat().find((type) => type !== 'null')));
    case 'minLength':
      return data === ''
        ? blank
        : { code: 'min_length', detail: `Must have at least ${params['limit']} characters.` };
    case 'maxLength':
      return { code: 'max_length', detail: `Must have at most ${params['limit']} characters.` };
    case 'minItems': {
      const entries = params['limit'] === 1 ? 'entry' : 'entries';
      return { code: 'min_items', detail: `Must have at least ${params['limit']} ${entries}.` };
    }
    case 'maxItems':
      return { code: 'max_items', detail: `Must have at most ${params['limit']} entries.` };
    case 'uniqueItems':
      return { code: 'unique', detail: 'Must not have the same entry twice.' };
    case 'minimum':
    case 'exclusiveMinimum':
      return {
        code: 'min_value',
        detail: `Must be ${keyword === 'minimum' ? 'at least' : 'more than'} ${params['limit']}.`,
      };
    case 'maximum':
    case 'exclusiveMaximum':
      return {
        code: 'max_value',
        detail: `Must be ${keyword === 'maximum' ? 'at most' : 'less than'} ${params['limit']}.`,
      };
    case 'not_before':
      return { code: 'min_value', detail: `Must not be before ${String(error.schema)}.` };
    case 'not_after':
      return { code: 'max_value', detail: `Must not be after ${String(error.schema)}.` };
    case 'enum': {
      const told = choiceTold(params['allowedValues'] as unknown[]);
      return { ...told, detail: ownDetail(error) ?? told.detail };
    }
    case 'const':
      return choiceTold([params['allowedValue']]);
    case 'anyOf':
    case 'oneOf':
      return unionTold(error.schema as Record<string, unknown>[]);
    case 'format':
      return formatTold(error, params['format'] as string);
    default:
      return { code: 'invalid_input', detail: ownDetail(error) ?? 'Has the wrong form.' };
  }
}

/** Returns the names of an object without additional properties. */
function knownOf({ parentSchema }: ErrorObject): string[] {
  return Object.keys((parentSchema?.['properties'] ?? {}) as object);
}

function formatTold(error: ErrorObject, format: string): Told {
  if (format === 'email' && error.data === '') return blank;
  const detail = ownDetail(error) ?? format_details[format] ?? 'Has the wrong form.';
  return { code: 'invalid_input', detail };
}

function typeTold(type: string): Told {
  return {
    code: type === 'array' ? 'not_a_list' : 'invalid_input',
    detail: type_details[type] ?? 'Has the wrong type.',
  };
}

function choiceTold(values: unknown[]): Told {
  const choices = values.filter((value) => value !== null).map((value) => JSON.stringify(value));
  return {
    code: 'invalid_choice',
    detail: `Must be ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}.`,
  };
}

function unionTold(branches: Record<string, unknown>[]): Told {
  if (branches.every((branch) => 'const' in branch || branch['type'] === 'null'))
    return choiceTold(branches.map((branch) => branch['const'] ?? null));
  const wanted = branches
    .map((branch) => type_details[String(branch['type'])]?.replace('Must be ', '').replace('.', ''))
    .filter((text) => text !== undefined);
  return {
    code: 'invalid_input',
    detail:
      wanted.length === 0 ? 'Has the wrong form.' : `Must be ${[...new Set(wanted)].join(' or ')}.`,
  };
}

/** A schema may contain its own sentence: `wrong_detail` beside `pattern`, `format` or `enum`. */
function ownDetail(error: ErrorObject): string | undefined {
  const detail = error.parentSchema?.['wrong_detail'];
  return typeof detail === 'string' ? detail : undefined;
}
