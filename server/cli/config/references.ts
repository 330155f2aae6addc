import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { FileFault, FilePlace, ReadValue } from './places.ts';

/** Largest file with a secret or source code, in bytes. */
const content_size_bytes_max = 1024 * 1024;

const variable =
  /\$\$\{|\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\$\{(?:\s*env\b[^}]*\}?|[A-Z_][A-Z0-9_]*\}|\{)/g;
/** Texts with code, in which `${` usually belongs to the code. */
const code_place = /^plugins\.[^.]+\.source\./;

/** Returns the value of a variable; undefined if it is not set. */
export type Variables = (name: string) => string | undefined;

/**
 * Replaces `${env:NAME}` in texts, and resolves `{env: NAME}` and `{file: path}`, marked as
 * secrets. An unset variable stays a reference, which the plan reports; in a text it is a fault.
 * Other faults are an empty variable or file, an unreadable file, and a mistyped variable
 * (`${NAME}`), except in the code of plugins. `$${` is an escaped `${`. `varied` lists the paths of
 * texts with a variable.
 */
export function resolveReferences(
  { value, places }: ReadValue,
  variables: Variables,
): { value: unknown; faults: FileFault[]; varied: Set<string> } {
  const faults: FileFault[] = [];
  const varied = new Set<string>();
  const placeOf = (path: string): FilePlace => {
    const [first] = places.values();
    return places.get(path) ?? first ?? { file: '', line: 0, column: 0 };
  };
  const read = (part: unknown, path: string): unknown => {
    if (typeof part === 'string')
      return part.replaceAll(variable, (whole, name?: string) => {
        if (whole === '$${') return '${';
        if (name === undefined) {
          if (!code_place.test(path)) faults.push({ ...placeOf(path), detail: notOne(whole) });
          return whole;
        }
        const found = variables(name);
        if (found === undefined)
          faults.push({ ...placeOf(path), detail: `The variable ${name} is not set.` });
        else if (isBlank(found))
          faults.push({ ...placeOf(path), detail: blankVariable(path, name) });
        varied.add(path);
        return found ?? whole;
      });
    if (Array.isArray(part)) return part.map((item, index) => read(item, `${path}.${index}`));
    if (typeof part !== 'object' || part === null) return part;
    const [[name, content] = [], ...more] = Object.entries(part);
    if (more.length === 0 && typeof content === 'string' && (name === 'env' || name === 'file')) {
      const found =
        name === 'env' ? variables(content) : fileContent(content, placeOf(path), faults);
      if (found === undefined) return part;
      if (!isBlank(found) || code_place.test(path)) return { secret: found };
      const source = name === 'env' ? `variable ${content}` : `file ${content}`;
      faults.push({ ...placeOf(path), detail: blankReference(path, source) });
      return part;
    }
    return Object.fromEntries(
      Object.entries(part).map(([key, inner]) => [
        key,
        read(inner, path === '' ? key : `${path}.${key}`),
      ]),
    );
  };
  return { value: read(value, ''), faults, varied };
}

function notOne(text: string): string {
  return `${text} is no variable: write \${env:NAME}, or $\${ for a literal \${.`;
}

/** A missing secret of a pipeline arrives as an empty variable. */
function isBlank(text: string): boolean {
  return text.trim() === '';
}

function blankReference(path: string, source: string): string {
  return (
    `${path} refers to the ${source}, which is empty. Give it a value; remove this key to keep ` +
    'what is stored; or write null to clear it.'
  );
}

function blankVariable(path: string, name: string): string {
  return `${path} uses the variable ${name}, which is empty. Give it a value, or remove it.`;
}

function fileContent(path: string, place: FilePlace, faults: FileFault[]): string | undefined {
  const file = resolve(dirname(place.file), path);
  try {
    if (statSync(file).size > content_size_bytes_max)
      throw new Error(`it is larger than ${content_size_bytes_max} bytes`);
    const bytes = readFileSync(file);
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8 text');
    return bytes.toString().replace(/\r?\n$/, '');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    faults.push({ ...place, detail: `The file ${path} cannot be read: ${reason}.` });
    return undefined;
  }
}
