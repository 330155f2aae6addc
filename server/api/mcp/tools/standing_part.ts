import { isFields } from '../../../platform/fields.ts';
import type { ApiRecord } from '../api_call.ts';

const outline_max = 1_000;

/**
 * The part of a configuration that stands at a path with dots, in its place: what lies on the way
 * keeps its own plain fields, so that the part can be sent as it is. Undefined when nothing stands
 * there.
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

/** The paths of the projects, of the sections and of what stands in them, at most 1,000. */
export function outlineOf(configuration: ApiRecord): string[] {
  const paths: string[] = [];
  const walk = (at: ApiRecord, path: string, depth: number) => {
    for (const [name, inner] of Object.entries(at)) {
      if (!isFields(inner) || paths.length >= outline_max) continue;
      const own = path === '' ? name : `${path}.${name}`;
      paths.push(own);
      // Below an object of a project are its own fields.
      if (depth < 3) walk(inner, own, depth + 1);
    }
  };
  walk(configuration, '', 0);
  return paths;
}
