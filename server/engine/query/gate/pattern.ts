/** Most positions of a pattern that are counted; larger counts have the same effect. */
const counted_max = 1_000_000_000;

const quantifier = /\{(\d{1,9})(?:(,)(\d{1,9})?)?\}/y;
const escape = /\\(?:Q[^]*?(?:\\E|$)|[pP]\{[^}]*\}|[pP][^]|x\{[^}]*\}|[^]|$)/y;
const character_class = /\[\^?\]?(?:\[:[^\]]*:\]|\\[^]|[^\]\\])*(?:\]|$)/y;
const group_start = /\((?:\?P?<\w*>|\?[A-Za-z-]*[:)])?/y;

/**
 * Counts the characters and classes of an RE2 expression with its repeats expanded (`a{3}b` has 4).
 * The time to match each byte of a text grows with it. Never too low for an expression that RE2
 * accepts; its time is proportional to the length of the pattern.
 */
export function countPositions(pattern: string): number {
  // Each open group's sum so far, and its last piece, which a quantifier repeats.
  const open: { sum: number; last: number }[] = [{ sum: 0, last: 0 }];
  const take = (expression: RegExp, position: number) => {
    expression.lastIndex = position;
    return expression.exec(pattern);
  };
  const add = (positions: number) => {
    const group = open.at(-1)!;
    group.sum = Math.min(counted_max, group.sum + group.last);
    group.last = Math.min(counted_max, positions);
  };
  for (let position = 0; position < pattern.length;) {
    const sign = pattern[position]!;
    let length = 1;
    if (sign === '\\') {
      length = take(escape, position)?.[0].length ?? 1;
      add(pattern.startsWith('\\Q', position) ? length : 1);
    } else if (sign === '[') {
      // A class without its closing bracket is invalid: ClickHouse reports it when the query is
      // stored.
      length = take(character_class, position)?.[0].length ?? 1;
      add(1);
    } else if (sign === '(') {
      const [start] = take(group_start, position)!;
      length = start.length;
      if (!start.endsWith(')')) open.push({ sum: 0, last: 0 });
    } else if (sign === ')' && open.length > 1) {
      const { sum, last } = open.pop()!;
      add(Math.max(1, sum + last));
    } else if (sign === '{') {
      const repeat = take(quantifier, position);
      if (repeat === null) add(1);
      else {
        length = repeat[0].length;
        const times = Math.max(
          1,
          Number(repeat[3] ?? repeat[1]) +
            (repeat[2] !== undefined && repeat[3] === undefined ? 1 : 0),
        );
        const group = open.at(-1)!;
        group.last = Math.min(counted_max, group.last * times);
      }
    } else if (!'*+?|'.includes(sign)) add(1);
    position += length;
  }
  return Math.min(
    counted_max,
    open.reduce((total, { sum, last }) => total + sum + last, 0),
  );
}
