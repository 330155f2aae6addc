import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';

/** Maximum depth of such lists; deeper attributes stay unchanged. */
const steps_max = 12;
type Tree = Map<string, Tree | { value: unknown }>;

/**
 * Extracts a list from attributes that have one name per field, `<name>.<position>.<field>`, also
 * nested; undefined if there are none. Attributes that contradict earlier ones stay.
 */
export function takeList(attributes: JsonObject, name: string): unknown[] | undefined {
  const tree: Tree = new Map();
  for (const [key, value] of Object.entries(attributes)) {
    if (!key.startsWith(`${name}.`)) continue;
    const steps = key.slice(name.length + 1).split('.');
    if (!/^\d{1,9}$/.test(steps[0]!) || steps.length > steps_max) continue;
    if (put(tree, steps, value)) delete attributes[key];
  }
  const built = plain(tree);
  return Array.isArray(built) ? built : undefined;
}

function put(tree: Tree, steps: string[], value: unknown): boolean {
  let at = tree;
  for (const step of steps.slice(0, -1)) {
    const next = at.get(step) ?? new Map();
    if (!(next instanceof Map)) return false;
    at.set(step, next);
    at = next;
  }
  const last = steps.at(-1)!;
  if (at.has(last)) return false;
  at.set(last, { value });
  return true;
}

/** Converts objects with numeric names to lists, in their order. */
function plain(tree: Tree): unknown {
  const entries = [...tree].map(
    ([step, next]) => [step, next instanceof Map ? plain(next) : next.value] as const,
  );
  if (entries.length === 0 || !entries.every(([step]) => /^\d{1,9}$/.test(step)))
    return Object.fromEntries(entries);
  return entries.sort(([one], [other]) => Number(one) - Number(other)).map(([, value]) => value);
}
