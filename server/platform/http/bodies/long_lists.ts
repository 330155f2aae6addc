import type { TSchema } from 'typebox';
import type { Violation } from '../errors.ts';
import { attrOf } from './violations.ts';

type Part = {
  maxItems?: number;
  maxLength?: number;
  trim?: boolean;
  items?: Part;
  properties?: Record<string, Part>;
};

/**
 * Cuts texts of an object, in place, that exceed their schema's length, to a length that still
 * exceeds it: so rules need not process a text of 20 MiB.
 */
export function cutTexts(schema: TSchema, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Record<string, unknown>;
  for (const [name, { maxLength, trim }] of Object.entries((schema as Part).properties ?? {})) {
    const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
    // A character has at most two units.
    const kept = maxLength === undefined ? Infinity : 2 * maxLength + 1;
    if (typeof text === 'string' && text.length > kept)
      fields[name] = (trim === true ? text.trim() : text).slice(0, kept);
  }
}

/**
 * Returns the lists in a value that exceed their schema's length. Called before entries are
 * checked, because listing a violation for each of ten million would be too expensive.
 */
export function longLists(schema: TSchema, value: unknown, prefix: string): Violation[] {
  const part = schema as Part;
  if (Array.isArray(value)) {
    if (part.maxItems !== undefined && value.length > part.maxItems)
      return [{ attr: attrOf(prefix), code: 'max_items', detail: tooMany(part.maxItems) }];
    const { items } = part;
    return items === undefined || !hasLists(items)
      ? []
      : value.flatMap((entry, index) => longLists(items as TSchema, entry, `${prefix}/${index}`));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(part.properties ?? {}).flatMap(([name, inner]) =>
    Object.hasOwn(value, name)
      ? longLists(inner as TSchema, (value as Record<string, unknown>)[name], `${prefix}/${name}`)
      : [],
  );
}

function hasLists({ maxItems, items, properties }: Part): boolean {
  return (
    maxItems !== undefined ||
    (items !== undefined && hasLists(items)) ||
    Object.values(properties ?? {}).some(hasLists)
  );
}

function tooMany(maxItems: number): string {
  return `Must have at most ${maxItems} ${maxItems === 1 ? 'entry' : 'entries'}.`;
}
