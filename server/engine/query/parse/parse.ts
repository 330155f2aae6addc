import { Cursor } from './cursor.ts';
import { parseExpression } from './expression.ts';
import type { Grammar } from './grammar.ts';
import { parseSelect, parseUnion } from './select.ts';
import type { Select } from './tree.ts';

/** A query: its SELECT, and whether dates, arrays and maps become columns of their own types. */
export type ParsedQuery = { select: Select; has_native_types: boolean };

/**
 * Returns the tree of a text in the query language: one SELECT, which may end with the setting
 * `native_types` and a semicolon. Guarantee: an accepted text has at most 65,536 characters, 5,000
 * nodes and 100 levels. Throws a `Fault` at the first invalid piece.
 */
export function parse(text: string): ParsedQuery {
  const cursor = new Cursor(text);
  const grammar: Grammar = {
    cursor,
    expression: () => parseExpression(grammar),
    select: () => parseSelect(grammar),
    union: (first) => parseUnion(grammar, first),
  };
  if (!cursor.isWord('SELECT') && !cursor.isWord('WITH') && !cursor.isSign('('))
    cursor.fail('A query begins with SELECT or WITH.');
  const select = grammar.select();
  const has_native_types = parseSettings(cursor);
  if (cursor.isSign(';') && cursor.peek(1).kind === 'end') cursor.next();
  if (cursor.peek().kind !== 'end')
    cursor.fail(
      'This does not belong to the query: remove it, or look for a comma, operator or bracket ' +
        'missing before it.',
    );
  return { select, has_native_types };
}

function parseSettings(cursor: Cursor): boolean {
  if (!cursor.isWord('SETTINGS') || !cursor.isWord('NATIVE_TYPES', 1)) return false;
  cursor.acceptWords('SETTINGS', 'NATIVE_TYPES');
  cursor.expectSign('=');
  const { kind, value } = cursor.peek();
  if (kind !== 'number' || (value !== '0' && value !== '1')) cursor.fail('Write 0 or 1 here.');
  cursor.next();
  return value === '1';
}
