import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';

/** Thrown if a mapping cannot be applied to an event; the sentence says why. */
export class MappingFault extends Error {}

/**
 * Returns the fields of a mapping with their values for an event, without empty ones. Gives the
 * same results as the library's own mapping, which `resolve.test.ts` compares for each default of
 * its actions. Exceptions: `@liquid` is refused, values that contain `{{` are not read as a
 * template again, and inherited properties are ignored. Throws a MappingFault.
 */
export function resolveMapping(mapping: Fields, event: unknown): Fields {
  return withoutMissing(resolve(mapping, event)) as Fields;
}

/** Returns the value for an event; undefined for none. */
export function resolve(value: unknown, event: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, event));
  if (!isFields(value)) return value;
  const names = Object.keys(value);
  const [directive] = names.filter((name) => name.startsWith('@'));
  if (directive === undefined)
    return Object.fromEntries(names.map((name) => [name, resolve(value[name], event)]));
  const others = names.filter((name) => name !== directive && name !== '_metadata');
  if (others.length > 0)
    throw new MappingFault(`${directive} must stand alone, without ${others.join(', ')}.`);
  if (!Object.hasOwn(directives, directive))
    throw new MappingFault(
      directive === '@liquid'
        ? '@liquid is not known here. Use @template.'
        : `There is no ${directive}.`,
    );
  return directives[directive]!(value[directive], event);
}

/**
 * Returns the text of a template; `shown` converts a value to text, given whether it stays
 * unchanged.
 */
export function render(
  template: string,
  event: unknown,
  shown: (value: unknown, path: string, at: number, is_raw: boolean) => string = String,
): string {
  return template.replaceAll(
    /\{\{\{([^{}]+)\}\}\}|\{\{([^{}]+)\}\}/g,
    (_, raw: string | undefined, plain: string | undefined, at: number) => {
      const path = (raw ?? plain ?? '').trim();
      return shown(get(event, path) ?? '', path, at, raw !== undefined);
    },
  );
}

// Matches `a.b`, `a[0]`, `a["b"]`.
const separators = /\[(?=["'\d])|\.|(?<=["'\d])\]+/g;

function get(event: unknown, path: string): unknown {
  const plain = path.replace('$.', '');
  if (plain === '' || plain === '.') return event;
  const keys = plain.split(separators).filter((key) => key !== '');
  return keys.reduce<unknown>((value, key) => {
    // A falsy value on the path, such as null or '', is the result.
    if (!value) return value;
    const name = key.replaceAll(/["']/g, '');
    return Object.hasOwn(Object(value) as object, name)
      ? (value as Record<string, unknown>)[name]
      : undefined;
  }, event);
}

type Directive = (value: unknown, event: unknown) => unknown;

const ifElse: Directive = (value, event) => {
  const { exists, blank, then, else: other } = fieldsOf('@if', value);
  if (!exists && !blank) throw new MappingFault('@if needs exists or blank.');
  const asked = resolve(exists ?? blank, event);
  const isThere = asked !== undefined && asked !== null;
  const holds = exists === undefined ? isThere && !isBlank(asked) : isThere;
  if (holds) return resolve(then, event);
  return other ? resolve(other, event) : undefined;
};

function isBlank(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && !value.length);
}

const changedCase: Directive = (value, event) => {
  const { operator, value: given } = fieldsOf('@case', value);
  const text = given ? resolve(given, event) : undefined;
  if (typeof text !== 'string') return text;
  if (operator === 'lower') return text.toLowerCase();
  if (operator === 'upper') return text.toUpperCase();
  throw new MappingFault('@case needs lower or upper as its operator.');
};

const pattern_length_max = 10;

const replaced: Directive = (value, event) => {
  const options = fieldsOf('@replace', value);
  const { pattern, replacement = '', ignorecase, global, value: given } = options;
  const { pattern2, replacement2 = '' } = options;
  const steps = [[pattern, replacement], ...(pattern2 ? [[pattern2, replacement2]] : [])].map(
    (step) => step.map((one) => textOf('@replace', one ?? '')),
  );
  if (steps.flat().some(({ length }) => length > pattern_length_max))
    throw new MappingFault(`@replace takes up to ${pattern_length_max} characters.`);
  if (!given) return undefined;
  const text = resolve(given, event);
  if (!['string', 'number', 'boolean'].includes(typeof text)) return '';
  const flags = `${global === false ? '' : 'g'}${ignorecase === true ? 'i' : ''}`;
  return steps.reduce(
    (before, [from = '', to = '']) => before.replace(new RegExp(RegExp.escape(from), flags), to),
    String(text),
  );
};

const eachOf: Directive = (value, event) => {
  if (!Array.isArray(value)) throw new MappingFault('@arrayPath needs a list.');
  const [path, shape] = value as unknown[];
  const root = typeof path === 'string' ? get(event, path) : resolve(path, event);
  const isSome = Array.isArray(root) || isFields(root);
  if (!isSome || !isFields(shape) || Object.keys(shape).length === 0) return root;
  return (Array.isArray(root) ? root : [root]).map((item) => resolve(shape, item));
};

function flattened(value: unknown, prefix: string, separator: string, omits: boolean): Fields {
  if (!isFields(value) && (omits || !Array.isArray(value))) return { [prefix]: value };
  const parts = Object.entries(value).map(([name, part]) =>
    flattened(part, prefix === '' ? name : `${prefix}${separator}${name}`, separator, omits),
  );
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

const json: Directive = (value, event) => {
  const { mode, value: given } = fieldsOf('@json', value);
  const resolved = resolve(given, event);
  if (mode === 'encode') return JSON.stringify(resolved);
  if (mode !== 'decode' || typeof resolved !== 'string') return resolved;
  try {
    return JSON.parse(resolved) as unknown;
  } catch {
    return resolved;
  }
};

const merged: Directive = (value, event) => {
  const { direction, objects } = fieldsOf('@merge', value);
  if (!Array.isArray(objects)) throw new MappingFault('@merge needs a list of objects.');
  const all = objects.map((one) => resolve(one, event));
  const ordered = resolve(direction, event) === 'left' ? all.toReversed() : all;
  return Object.fromEntries(ordered.flatMap((one) => Object.entries(one ?? {})));
};

const directives: Record<string, Directive> = {
  '@path': (value, event) => get(event, textOf('@path', resolve(value, event))),
  '@template': (value, event) => render(textOf('@template', resolve(value, event)), event),
  '@literal': resolve,
  '@if': ifElse,
  '@case': changedCase,
  '@replace': replaced,
  '@arrayPath': eachOf,
  '@flatten': (value, event) => {
    const { separator, value: given, omitArrays = false } = fieldsOf('@flatten', value);
    const text = textOf('@flatten', resolve(separator, event));
    return flattened(resolve(given, event), '', text, omitArrays === true);
  },
  '@json': json,
  '@merge': merged,
  '@transform': (value, event) => {
    const { apply, mapping } = fieldsOf('@transform', value);
    return resolve(mapping, resolveMapping(fieldsOf('@transform', apply), event));
  },
  '@excludeWhenNull': (value, event) => withoutNulls(resolve(value, event)),
};

function withoutNulls(value: unknown): unknown {
  if (value === null) return undefined;
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      isFields(part) ? withoutNulls(part) : (part ?? undefined),
    ]),
  );
}

function withoutMissing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMissing);
  if (!isFields(value)) return value;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries.map(([name, part]) => [name, withoutMissing(part)]));
}

function fieldsOf(directive: string, value: unknown): Fields {
  if (isFields(value)) return value;
  throw new MappingFault(`${directive} needs an object.`);
}

function textOf(directive: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new MappingFault(`${directive} needs a text.`);
}
