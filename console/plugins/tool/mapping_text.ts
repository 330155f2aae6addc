import type { ToolMapping } from '../../../server/api/plugins/schema.ts';

/**
 * Returns a mapping's value in the form that people write: `$.` and a path, a text with `{{...}}`,
 * a plain text, or JSON for everything else.
 */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return '';
  const [only, ...more] = typeof value === 'object' ? Object.entries(value) : [];
  if (only !== undefined && more.length === 0 && typeof only[1] === 'string') {
    const [directive, text] = only;
    if (directive === '@path' && text.startsWith('$.')) return text;
    if (directive === '@template' && text.includes('{{') && isPlain(text)) return text;
  }
  return typeof value === 'string' && isPlain(value) && !isSpecial(value)
    ? value
    : JSON.stringify(value);
}

/**
 * Reads such a text as a value; undefined for an empty text. `shownValue` of the result is the same
 * text.
 */
export function readValue(text: string): unknown {
  if (text.trim() === '') return undefined;
  if (text.startsWith('$.')) return { '@path': text.trim() };
  if (!isPlain(text)) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
  return text.includes('{{') ? { '@template': text } : text;
}

/** Returns true for a text that is not JSON. */
function isPlain(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

function isSpecial(text: string): boolean {
  return text.startsWith('$.') || text.includes('{{') || text.trim() === '';
}

/** Reads mappings from a setting's text; undefined while it is invalid. */
export function readMappings(text: string): ToolMapping[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every(isMapping) ? list : undefined;
  } catch {
    return undefined;
  }
}

function isMapping(one: unknown): one is ToolMapping {
  if (typeof one !== 'object' || one === null) return false;
  const { partnerAction, subscribe, mapping } = one as Record<string, unknown>;
  return (
    typeof partnerAction === 'string' &&
    typeof subscribe === 'string' &&
    typeof mapping === 'object' &&
    mapping !== null
  );
}

/** Returns mappings as text for the editor. */
export function mappingsText(mappings: readonly ToolMapping[]): string {
  return JSON.stringify(mappings, undefined, 2);
}

/** Returns the mapping with a unique name. */
export function withOwnName(mapping: ToolMapping, others: readonly ToolMapping[]): ToolMapping {
  const base = mapping.name ?? mapping.partnerAction;
  const names = new Set(others.map(({ name, partnerAction }) => name ?? partnerAction));
  let name = base;
  for (let number = 2; names.has(name); number += 1) name = `${base} ${number}`;
  return { ...mapping, name };
}
