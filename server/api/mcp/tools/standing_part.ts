import { isFields } from '../../../platform/fields.ts';
import type { ApiRecord } from '../api_call.ts';

const outline_max = 1_000;

/**
 * Returns the part of a configuration at a path with dots. Its parents keep their own plain fields,
 * so that the part can be sent back unchanged. Undefined if the path does not exist.
 */
export function partOf(configuration: ApiRecord, path: string): ApiRecord | undefined {
  const [step = '', ...rest] = path.split('.');
  if (!Object.hasOwn(configuration, step)) return undefined;
  const inner = configuration[step];
  const part = rest.length === 0 ? inner : isFields(inner) && partOf(inner, rest.join('.'));
  if (part === undefined || part === false) return undefined;
  const plain = Object.entries(configuration).filter(([, value]) => !isFields(value));
  return { ...Object.fromEntries(plain), [step]: part };
}

/** Returns the paths of the projects, sections and objects, at most 1,000. */
export function outlineOf(configuration: ApiRecord): string[] {
  const paths: string[] = [];
  const walk = (at: ApiRecord, path: string, depth: number) => {
    for (const [name, inner] of Object.entries(at)) {
      if (!isFields(inner) || paths.length >= outline_max) continue;
      const own = path === '' ? name : `${path}.${name}`;
      paths.push(own);
      // Deeper levels are an object's own fields.
      if (depth < 3) walk(inner, own, depth + 1);
    }
  };
  walk(configuration, '', 0);
  return paths;
}
