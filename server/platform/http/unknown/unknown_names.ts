import type { TSchema } from 'typebox';
import { isFields } from '../../fields.ts';
import { suggest } from '../../suggest.ts';

/** A name in a value that its schema does not have: its way from the top, and its neighbours'. */
export type UnknownName = {
  path: readonly string[];
  value: unknown;
  known: readonly string[];
};

type Node = {
  type?: string | string[];
  properties?: Record<string, Node>;
  patternProperties?: Record<string, unknown>;
  additionalProperties?: unknown;
  items?: Node;
  anyOf?: Node[];
  oneOf?: Node[];
};

/** Most names that are looked for: nobody reads on, and a body can have ten thousand. */
const names_max = 100;

/**
 * The names of a value, at every depth, that no branch of its schema has; the first hundred. An
 * object whose schema lists no properties takes any name, and one that is closed already
 * (`additionalProperties`) is left to the validator.
 */
export function unknownNames(schema: TSchema, value: unknown): UnknownName[] {
  const found: UnknownName[] = [];
  walk(branchesOf(schema), value, [], found);
  return found;
}

/** True when the schema has a property at the path. */
export function hasProperty(schema: TSchema, path: readonly string[]): boolean {
  let nodes = branchesOf(schema);
  for (const name of path) nodes = insideOf(nodes, name);
  return nodes.length > 0;
}

/** The value at the path; undefined where there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let inner = value;
  for (const name of path)
    inner =
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined;
  return inner;
}

/** The sentence about a name that is not there, with the nearest one that is. */
export function unknownDetail(
  what: 'field' | 'parameter' | 'argument',
  name: string,
  known: readonly string[],
): string {
  const meant = suggest(name, known);
  return meant === undefined
    ? `There is no such ${what} here: leave it out, or correct its name.`
    : `There is no such ${what} here. Did you mean \`${meant}\`?`;
}

function branchesOf(node: Node): Node[] {
  const branches = node.anyOf ?? node.oneOf;
  return branches === undefined ? [node] : branches.flatMap(branchesOf);
}

function insideOf(nodes: readonly Node[], name: string): Node[] {
  return nodes.flatMap(({ properties = {}, items }) => {
    const inner = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (inner !== undefined) return branchesOf(inner);
    return items !== undefined && /^\d+$/.test(name) ? branchesOf(items) : [];
  });
}

function walk(
  nodes: readonly Node[],
  value: unknown,
  path: readonly string[],
  found: UnknownName[],
): void {
  if (found.length >= names_max || typeof value !== 'object' || value === null) return;
  const takesAny = isFields(value) && nodes.some(isOpen);
  for (const [name, inner] of Object.entries(value)) {
    const inside = insideOf(nodes, name);
    const way = [...path, name];
    if (inside.length > 0) walk(inside, inner, way, found);
    else if (isFields(value) && !takesAny && !nodes.some((node) => fitsPattern(node, name)))
      found.push({ path: way, value: inner, known: nodes.flatMap(namesOf) });
    if (found.length >= names_max) return;
  }
}

function namesOf({ properties = {} }: Node): string[] {
  return Object.keys(properties);
}

/** A value that is no object has no names to check: the validator judges its type. */
function isOpen({ type, properties, patternProperties, additionalProperties }: Node): boolean {
  if (additionalProperties !== undefined) return true;
  if (type !== undefined && ![type].flat().includes('object')) return false;
  return properties === undefined && patternProperties === undefined;
}

function fitsPattern({ patternProperties = {} }: Node, name: string): boolean {
  return Object.keys(patternProperties).some((pattern) => new RegExp(pattern, 'u').test(name));
}
