import { stringify } from 'yaml';

/** Matches text that would be read as a reference. */
const needs_escape = /(?<=\$)\$\{|\$\{(?=\s*env\b|[A-Z_][A-Z0-9_]*\}|\{)/g;

/** Returns a configuration as YAML that reads back as the same configuration. */
export function yamlText(configuration: Record<string, unknown>): string {
  // Many programs read YAML 1.1, in which a plain `no` is false.
  return stringify(withEscapes(configuration), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    compat: 'yaml-1.1',
  });
}

/** Escapes texts that look like references, so that the reader returns the same value. */
export function withEscapes(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(needs_escape, () => '$${');
  if (Array.isArray(value)) return value.map(withEscapes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withEscapes(inner)]),
  );
}
