import type { ToolMapping } from '../../../server/api/plugins/schema.ts';

/**
 * A value of a mapping as people write it: `$.` and a path, a text with `{{...}}`, a plain text, or
 * JSON for all else.
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

/** The value that such a text means; undefined: none. `shownValue` of it gives the text again. */
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

/** True for a text that is not JSON. */
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

/** The mappings of a setting's text; undefined while it is no list of mappings. */
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

/** The text of mappings, as an editor shows it. */
export function mappingsText(mappings: readonly ToolMapping[]): string {
  return JSON.stringify(mappings, undefined, 2);
}

/** The mapping under a name that the others do not have. */
export function withOwnName(mapping: ToolMapping, others: readonly ToolMapping[]): ToolMapping {
  const base = mapping.name ?? mapping.partnerAction;
  const names = new Set(others.map(({ name, partnerAction }) => name ?? partnerAction));
  let name = base;
  for (let number = 2; names.has(name); number += 1) name = `${base} ${number}`;
  return { ...mapping, name };
}
