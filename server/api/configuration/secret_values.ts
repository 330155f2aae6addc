import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import type { Kind } from './kinds/kind.ts';

/**
 * A wanted secret: a value (`is_plain`: a text without a mark), the stored value (`keep`), or an
 * unresolved reference. Values are in memory only.
 */
export type SecretWanted =
  | { value: unknown; is_plain?: true }
  | { keep: true }
  | { reference: string };

/** An object's fields without its secrets, and its secrets by path. */
export type Parted = {
  fields: Fields;
  secrets: Record<string, SecretWanted>;
  violations: Violation[];
};

/**
 * Splits an object's content in files into fields and secrets. `attr` names the object in
 * violations. Guarantee: no value at the path of a secret, and no marked value, is left in the
 * fields.
 */
export function partSecrets(kind: Kind, sent: Fields, attr: string): Parted {
  const secrets: Record<string, SecretWanted> = {};
  const violations: Violation[] = [];
  const paths = new Set(kind.secretPaths(sent));
  const part = (value: unknown, path: string): unknown => {
    const marked = markOf(value);
    const isPlace = paths.has(path);
    if (isPlace || (marked !== undefined && !kind.takesTextAt(path)))
      for (const place of blankMarks(value, path))
        violations.push({
          attr: `${attr}__${place.replaceAll('.', '__')}`,
          code: 'blank',
          detail: blank_detail,
        });
    if (isPlace || (marked !== undefined && kind.maySealAt(path))) {
      const wanted = marked ?? wholeValue(value);
      if (wanted !== undefined) secrets[path] = wanted;
      return undefined;
    }
    if (marked !== undefined && 'value' in marked && kind.takesTextAt(path)) return marked.value;
    if (marked !== undefined && !kind.takesTextAt(path)) {
      violations.push({
        attr: `${attr}__${path.replaceAll('.', '__')}`,
        code: 'invalid_input',
        detail: 'A reference is for secrets, and this field is not a secret. Write ${env:NAME}.',
      });
      return undefined;
    }
    if (!isFields(value)) return value;
    const inner = Object.entries(value).map(([name, one]): [string, unknown] => [
      name,
      part(one, path === '' ? name : `${path}.${name}`),
    ]);
    return Object.fromEntries(inner.filter(([, one]) => one !== undefined));
  };
  return { fields: part(sent, '') as Fields, secrets, violations };
}

/**
 * Returns the fields with the values of secrets put back at their paths in existing objects; the
 * same fields if there are none. Names may contain dots or be `__proto__`, but only own fields are
 * reached.
 */
export function joinSecrets(fields: Fields, secrets: Readonly<Fields>): Fields {
  const places = Object.entries(secrets);
  if (places.length === 0) return fields;
  const joined = structuredClone(fields);
  for (const [path, value] of places) {
    const steps = path.split('.');
    let [at, depth] = [joined, 0];
    for (; depth < steps.length - 1; depth += 1) {
      const inner = Object.hasOwn(at, steps[depth]!) ? at[steps[depth]!] : undefined;
      if (!isFields(inner)) break;
      at = inner;
    }
    const name = steps.slice(depth).join('.');
    Object.defineProperty(at, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return joined;
}

const blank_detail =
  'The secret is empty. Give it a value, remove the key to keep the stored value, or write ' +
  'null to clear it.';

/** Lists paths where a value, or a part of a value, is an empty secret. */
function blankMarks(value: unknown, path: string): string[] {
  const marked = markOf(value);
  if (marked !== undefined)
    return 'value' in marked && String(marked.value).trim() === '' ? [path] : [];
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    markOf(part) === undefined ? [] : blankMarks(part, `${path}.${name}`),
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** Reads a mark; undefined for any other value. */
function markOf(value: unknown): SecretWanted | undefined {
  if (!isFields(value)) return undefined;
  const [[name, content] = [], ...more] = Object.entries(value);
  if (name === undefined || more.length > 0) return undefined;
  if (name === 'keep' && content === true) return { keep: true };
  if (name === 'secret' && typeof content === 'string') return { value: content };
  return (name === 'env' || name === 'file') && typeof content === 'string'
    ? { reference: `${name} ${content}` }
    : undefined;
}

/** Returns a value at the path of a secret; its parts may be marked (the headers of requests). */
function wholeValue(value: unknown): SecretWanted | undefined {
  if (!isFields(value)) return isText(value) ? { value, is_plain: true } : { value };
  const parts = Object.entries(value).map(([name, part]) => [
    name,
    markOf(part) ?? { value: part },
  ]);
  const open = parts.find(([, part]) => 'reference' in (part as SecretWanted));
  if (open !== undefined) return open[1] as SecretWanted;
  return {
    value: Object.fromEntries(parts.map(([name, part]) => [name, (part as Fields)['value']])),
  };
}
