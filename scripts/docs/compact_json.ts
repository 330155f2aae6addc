import type { Json } from '../../server/platform/http/openapi/json.ts';

const width = 100;

/**
 * Returns the value as JSON in which anything that fits on a line stands on one, so that files and
 * their changes have few lines.
 */
export function compactJson(value: Json, indent = ''): string {
  const short = oneLine(value);
  if (value === null || typeof value !== 'object' || indent.length + short.length <= width)
    return short;
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return `[\n${value.map((one) => inner + compactJson(one, inner)).join(',\n')}\n${indent}]`;
  const entries = Object.entries(value).map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${compactJson(one, inner)}`,
  );
  return `{\n${entries.join(',\n')}\n${indent}}`;
}

function oneLine(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const fields = entries.map(([name, one]) => `${JSON.stringify(name)}: ${oneLine(one)}`);
  return `{ ${fields.join(', ')} }`;
}
