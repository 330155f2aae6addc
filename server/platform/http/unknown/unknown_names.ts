import type { TSchema } from 'typebox';
import { isFields } from '../../fields.ts';
import { suggest } from '../../suggest.ts';

/**
 * A name in a value that its schema does not have: its path from the top, and the sibling names.
 */
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

/** Most names that are searched: a body can have ten thousand, which nobody reads. */
const names_max = 100;

/**
 * Returns the names of a value, at every depth, that no branch of its schema has; the first
 * hundred. An object whose schema lists no properties accepts any name; a closed one
 * (`additionalProperties`) is left to the validator.
 */
export function unknownNames(schema: TSchema, value: unknown): UnknownName[] {
  const found: UnknownName[] = [];
  walk(branchesOf(schema), value, [], found);
  return found;
}

/** Returns true if the schema has a property at the path. */
export function hasProperty(schema: TSchema, path: readonly string[]): boolean {
  let nodes = branchesOf(schema);
  for (const name of path) nodes = insideOf(nodes, name);
  return nodes.length > 0;
}

/** Returns the value at the path; undefined if none exists. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let inner = value;
  for (const name of path)
    inner =
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
        ? (inner as Record<string, unknown>)[name]
        : undefined;
  return inner;
}

/** Returns the sentence about an unknown name, with the most similar known one. */
export function unknownDetail(
  what: 'field' | 'parameter' | 'argument',
  name: string,
  known: readonly string[],
): string {
  const meant = suggest(name, known);
  return meant === undefined
    ? `Unknown ${what}: leave it out, or correct its name.`
    : `Unknown ${what}. Did you mean \`${meant}\`?`;
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
