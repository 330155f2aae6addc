import { isObject } from '../../../server/platform/http/openapi/json.ts';
import type { Json } from '../../../server/platform/http/openapi/json.ts';
import type { Operation } from '../../../test/fuzz/operations.ts';
import type { Recorded } from '../../../test/reference/recorder.ts';

/** Ids of the objects of a collection, by its path with `{}` for each parameter. */
export type Objects = Map<string, string[]>;
type Ask = (operation: Operation, path: string, body?: Json) => Promise<unknown>;

/** The collection in which the path's last parameter names an object, with `{}` for the others. */
export function collectionOf(path: string): string {
  return unnamed(path.slice(0, path.lastIndexOf('{')));
}

/**
 * The path with `{}` for each parameter, so that paths with other names of parameters are equal.
 */
export function unnamed(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}');
}

/** Returns the JSON pointer to the value of a parameter in an answered object. */
export function pointerTo(parameter: string): string {
  if (parameter === 'user__uuid') return 'user/uuid';
  return parameter === 'hash' ? 'hash' : 'id';
}

/**
 * Creates this many objects in each collection of the document, with the request that a story sent,
 * and then lists them. For a collection inside another one, it uses the first outer object.
 */
export async function createObjects(
  operations: Operation[],
  recorded: Recorded,
  times: number,
  ask: Ask,
): Promise<Objects> {
  const objects: Objects = new Map();
  const inner = operations.filter(({ path }) => path.includes('{'));
  const parameters = new Map(
    inner.map(({ path }) => [collectionOf(path), /\{(\w+)\}[^{]*$/.exec(path)![1]!]),
  );
  for (const collection of [...parameters.keys()].toSorted(byDepth)) {
    const path = placeOf(collection, objects);
    if (path === undefined) continue;
    const own = (method: string) =>
      operations.find((one) => one.method === method && unnamed(one.path) === collection);
    const [list, create] = [own('GET'), own('POST')];
    const body = create === undefined ? undefined : recorded.get(create.id)?.body;
    for (let count = 0; count < times && body !== undefined; count += 1)
      await ask(create!, path, body);
    const answer = list === undefined ? undefined : await ask(list, path);
    const pointer = pointerTo(parameters.get(collection)!);
    objects.set(collection, idsIn(answer, pointer));
  }
  return objects;
}

const byDepth = (one: string, other: string) => one.split('{').length - other.split('{').length;

/**
 * Returns the path of a collection inside the first object of each outer one; undefined if one is
 * missing.
 */
function placeOf(collection: string, objects: Objects): string | undefined {
  const pieces = collection.split('{}');
  let [path, around] = [pieces[0]!, pieces[0]!];
  for (const piece of pieces.slice(1)) {
    const [id] = objects.get(around) ?? [];
    if (id === undefined) return undefined;
    [path, around] = [`${path}${id}${piece}`, `${around}{}${piece}`];
  }
  return path;
}

function idsIn(answer: unknown, pointer: string): string[] {
  const results = isObject(answer as Json) ? (answer as { results?: unknown }).results : undefined;
  if (!Array.isArray(results)) return [];
  return results.flatMap((one: Json) => {
    const id = pointer.split('/').reduce<Json | undefined>(at, one) ?? at(one, 'type');
    return typeof id === 'string' || typeof id === 'number' ? [String(id)] : [];
  });
}

function at(value: Json | undefined, name: string): Json | undefined {
  return value !== undefined && isObject(value) ? value[name] : undefined;
}
