import type { JsonObject } from './json.ts';

/** The operations of a path, by method. */
export type Operations = Record<string, { responses: JsonObject }>;

const not_allowed = {
  description:
    'The value of the parameter is a fixed path without this method. `Allow` lists its methods.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/**
 * A fixed path such as `@current/` hides the one with a parameter in its place, also for methods
 * that only the other has: those answer 405.
 */
export function declareNotAllowed(paths: Record<string, Operations>): void {
  const all = Object.keys(paths);
  for (const path of all) {
    const form = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const fixed = all.filter((other) => other !== path && form.test(other));
    for (const [method, operation] of Object.entries(paths[path]!))
      if (fixed.some((other) => !(method in paths[other]!)))
        operation.responses['405'] ??= not_allowed;
  }
}
