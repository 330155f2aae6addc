import { isObject } from './json.ts';
import type { Json, JsonObject } from './json.ts';

/**
 * Keywords of our validator that readers of the document do not need. A property of that name is an
 * object and stays.
 */
const own_keywords = new Set(['trim', 'wrong_detail', 'not_before', 'not_after', 'refuses_empty']);

/** Returns true for a keyword that only our validator knows. */
export function isOwnKeyword(name: string, value: Json): boolean {
  return own_keywords.has(name) && typeof value !== 'object';
}

/** Returns a schema for readers: without the keywords that only our validator knows. */
export function publicSchema(schema: object): Record<string, unknown> {
  return withoutOwn(JSON.parse(JSON.stringify(schema)) as JsonObject);
}

function withoutOwn(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, entry]) => !isOwnKeyword(name, entry))
      .map(([name, entry]) => [name, isObject(entry) ? withoutOwn(entry) : entry]),
  );
}
