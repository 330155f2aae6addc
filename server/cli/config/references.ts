import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FileFault, FilePlace, ReadValue } from './places.ts';

/** Largest file that a secret or a source may stand in, in bytes. */
const content_size_bytes_max = 1024 * 1024;

const variable = /\$\$\{|\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** What stands for a variable; undefined where it is not set. */
export type Variables = (name: string) => string | undefined;

/**
 * The value with `${env:NAME}` in texts replaced, and `{env: NAME}` and `{file: path}` by what they
 * stand for, marked as secrets. A variable that is not set stays a reference, which the plan names;
 * in a text it is a fault, and so is a file that cannot be read. `$${` stands for `${`.
 */
export function resolveReferences(
  { value, places }: ReadValue,
  variables: Variables,
): { value: unknown; faults: FileFault[] } {
  const faults: FileFault[] = [];
  const placeOf = (path: string): FilePlace => {
    const [first] = places.values();
    return places.get(path) ?? first ?? { file: '', line: 0, column: 0 };
  };
  const read = (part: unknown, path: string): unknown => {
    if (typeof part === 'string')
      return part.replaceAll(variable, (whole, name?: string) => {
        if (name === undefined) return '${';
        const found = variables(name);
        if (found === undefined)
          faults.push({ ...placeOf(path), detail: `The variable ${name} is not set.` });
        return found ?? whole;
      });
    if (Array.isArray(part)) return part.map((item, index) => read(item, `${path}.${index}`));
    if (typeof part !== 'object' || part === null) return part;
    const [[name, content] = [], ...more] = Object.entries(part);
    if (more.length === 0 && typeof content === 'string') {
      if (name === 'env') return secretOf(variables(content), part);
      if (name === 'file') return fileContent(content, part, placeOf(path), faults);
    }
    return Object.fromEntries(
      Object.entries(part).map(([key, inner]) => [
        key,
        read(inner, path === '' ? key : `${path}.${key}`),
      ]),
    );
  };
  return { value: read(value, ''), faults };
}

function secretOf(value: string | undefined, reference: object): object {
  return value === undefined ? reference : { secret: value };
}

function fileContent(
  path: string,
  reference: object,
  place: FilePlace,
  faults: FileFault[],
): object {
  const file = resolve(dirname(place.file), path);
  try {
    if (statSync(file).size > content_size_bytes_max)
      throw new Error(`it is larger than ${content_size_bytes_max} bytes`);
    return { secret: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    faults.push({ ...place, detail: `The file ${path} cannot be read: ${reason}.` });
    return reference;
  }
}
