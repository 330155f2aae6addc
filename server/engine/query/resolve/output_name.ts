import { printExpression } from '../parse/print.ts';
import type { Expression } from '../parse/tree.ts';

/** Most characters of an export column's name. */
export const name_characters_max = 64;

/**
 * Returns the name of a column without an alias: the last name of a column or property, or else the
 * expression itself, shortened.
 */
export function nameColumn(node: Expression): string {
  if (node.kind === 'column') return node.parts.at(-1)!.text;
  if (node.kind === 'field') return node.name.text;
  if (node.kind === 'element' && node.index.kind === 'text' && node.index.value !== '')
    return node.index.value;
  return [...printExpression(node)].slice(0, name_characters_max).join('');
}
