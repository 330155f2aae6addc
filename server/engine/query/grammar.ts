import type { Cursor } from './cursor.ts';
import type { Expression, Select, TypeName } from './tree.ts';

/** The text being read, and the rules that need each other. */
export type Grammar = { cursor: Cursor; expression(): Expression; select(): Select };

/** Reads expressions parted by commas up to and with the closing sign; the list may be empty. */
export function parseList(grammar: Grammar, close: string): Expression[] {
  const { cursor } = grammar;
  const items: Expression[] = [];
  if (cursor.acceptSign(close)) return items;
  do items.push(grammar.expression());
  while (cursor.acceptSign(','));
  cursor.expectSign(close);
  return items;
}

/** Reads the name of a type, as in `Nullable(Int64)`. */
export function parseTypeName(grammar: Grammar): TypeName {
  const { cursor } = grammar;
  return cursor.deeper(() => {
    const name = cursor.name('a type');
    const items: TypeName[] = [];
    if (cursor.acceptSign('(')) {
      do items.push(parseTypeName(grammar));
      while (cursor.acceptSign(','));
      cursor.expectSign(')');
    }
    return { name: name.text, items, ...cursor.since(name.start) };
  });
}
