import { Fault } from '../fault.ts';
import type { Cursor } from './cursor.ts';
import type { Expression, Select, TypeName } from './tree.ts';

/**
 * The text being read, and the rules that need each other; `union` reads the arms after the first
 * one.
 */
export type Grammar = {
  cursor: Cursor;
  expression(): Expression;
  select(): Select;
  union(first: Select): Select;
};

/** Reads expressions separated by commas up to and with the closing sign; the list may be empty. */
export function parseList(grammar: Grammar, close: string): Expression[] {
  const { cursor } = grammar;
  if (cursor.acceptSign(close)) return [];
  const items = [grammar.expression()];
  while (cursor.acceptSign(',')) items.push(grammar.expression());
  cursor.expectSign(close);
  return items;
}

/**
 * Reads the content of round brackets, after the first one was consumed: a SELECT with its UNIONs,
 * or expressions.
 */
export function parseInBrackets(grammar: Grammar): { select: Select } | { items: Expression[] } {
  const { cursor } = grammar;
  if (cursor.acceptSign(')')) return { items: [] };
  if (cursor.isWord('SELECT') || cursor.isWord('WITH')) {
    const select = grammar.select();
    cursor.expectSign(')');
    return { select };
  }
  const first = grammar.expression();
  // ((SELECT ...) UNION ALL ...): only now it shows that the inner brackets contain an arm.
  if (first.kind === 'select' && cursor.isWord('UNION')) {
    const select = grammar.union(first.select);
    cursor.expectSign(')');
    return { select };
  }
  const items = [first];
  while (cursor.acceptSign(',')) items.push(grammar.expression());
  cursor.expectSign(')');
  return { items };
}

/** Reads the name of a type, as in `Nullable(Int64)`. */
export function parseTypeName(grammar: Grammar): TypeName {
  const { cursor } = grammar;
  return cursor.deeper(() => {
    // ARRAY is a word of the language only before JOIN.
    const name = cursor.isWord('ARRAY') ? cursor.anyName() : cursor.name('a type');
    if (/^(decimal|numeric)/i.test(name.text))
      throw new Fault(
        'The language has no decimals: write round(x::Float64, 2), or keep the text.',
        name,
      );
    const items: TypeName[] = [];
    if (cursor.acceptSign('(')) {
      const { kind } = cursor.peek();
      if (kind === 'number' || kind === 'text')
        cursor.fail(
          'A type has no digits or zone here: timestamps are UTC, to microseconds. Write ' +
            `${name.text} alone.`,
        );
      do items.push(parseTypeName(grammar));
      while (cursor.acceptSign(','));
      cursor.expectSign(')');
    }
    return { name: name.text, items, ...cursor.since(name.start) };
  });
}
