import type { Grammar } from './grammar.ts';
import { parseExpressions, parseOrder, parseWindow } from './window.ts';
import type {
  ExpressionOf,
  Join,
  Name,
  Select,
  SelectCore,
  SelectItem,
  Source,
  With,
} from './tree.ts';

/** Most tables and subqueries that one FROM joins. */
const joins_max = 10;
/** Most entries of one WITH. */
const with_max = 100;

/**
 * Reads a SELECT with its UNIONs. ORDER BY and LIMIT belong to a single SELECT; for a union, the
 * author has to use brackets.
 */
export function parseSelect(grammar: Grammar): Select {
  return grammar.cursor.deeper(() => parseUnion(grammar, parseArm(grammar)));
}

/** Reads the UNIONs after a first SELECT; returns that one if there are none. */
export function parseUnion(grammar: Grammar, first: Select): Select {
  const { cursor } = grammar;
  const arms = [first];
  let distinct: boolean | undefined;
  while (cursor.isWord('UNION')) {
    refuseOrder(grammar, arms.at(-1)!);
    cursor.next();
    const isDistinct = cursor.acceptWords('DISTINCT');
    if (!isDistinct && !cursor.acceptWords('ALL'))
      cursor.fail('Write UNION ALL, or UNION DISTINCT to remove duplicate rows.');
    if (distinct !== undefined && distinct !== isDistinct)
      cursor.fail('UNION ALL and UNION DISTINCT cannot be mixed: put one of them in brackets.');
    distinct = isDistinct;
    arms.push(parseArm(grammar));
  }
  if (distinct === undefined) return first;
  refuseOrder(grammar, arms.at(-1)!);
  return { kind: 'union', distinct, arms, ...cursor.since(first.start) };
}

/**
 * An arm of a union may only have ORDER BY and LIMIT in its own brackets, so that nobody applies
 * them to the whole.
 */
function refuseOrder({ cursor }: Grammar, arm: Select): void {
  if (
    arm.kind === 'core' &&
    cursor.end === arm.end &&
    (arm.order_by.length > 0 || arm.limit !== undefined || arm.offset !== undefined || arm.limit_by)
  )
    cursor.fail(
      'ORDER BY and LIMIT beside UNION: put the SELECT that they belong to in brackets, or ' +
        'write SELECT * FROM (... UNION ALL ...) ORDER BY.',
    );
}

function parseArm(grammar: Grammar): Select {
  const { cursor } = grammar;
  if (!cursor.acceptSign('(')) return parseCore(grammar);
  const select = parseSelect(grammar);
  cursor.expectSign(')');
  return select;
}

function parseCore(grammar: Grammar): SelectCore {
  const { cursor } = grammar;
  const { start } = cursor.peek();
  const entries = cursor.acceptWords('WITH') ? parseWith(grammar) : [];
  cursor.expectWord('SELECT');
  const distinct = cursor.acceptWords('DISTINCT');
  if (distinct && cursor.isWord('ON'))
    cursor.fail('DISTINCT ON is not part of the language: write LIMIT 1 BY.');
  const core: SelectCore = {
    kind: 'core',
    with: entries,
    distinct,
    items: parseItems(grammar),
    joins: [],
    group_by: [],
    group_by_all: false,
    windows: [],
    order_by: [],
    start,
    end: start,
  };
  if (cursor.acceptWords('FROM')) parseFrom(grammar, core);
  parseClauses(grammar, core);
  return { ...core, ...cursor.since(start) };
}

function parseWith(grammar: Grammar): With[] {
  const { cursor } = grammar;
  if (cursor.isWord('RECURSIVE')) cursor.fail('RECURSIVE is not part of the language.');
  const entries: With[] = [];
  do {
    if (cursor.isName() && cursor.isWord('AS', 1) && cursor.isSign('(', 2)) {
      const name = cursor.name('a subquery');
      cursor.next();
      cursor.expectSign('(');
      entries.push({ name, select: grammar.select() });
      cursor.expectSign(')');
    } else {
      const expression = grammar.expression();
      cursor.expectWord('AS');
      entries.push({ expression, name: cursor.anyName() });
    }
    if (entries.length > with_max)
      cursor.fail(`WITH has at most ${with_max} entries: split the query.`);
  } while (cursor.acceptSign(','));
  return entries;
}

function parseItems(grammar: Grammar): SelectItem[] {
  const { cursor } = grammar;
  const items: SelectItem[] = [];
  do {
    if (cursor.isWord('FROM'))
      cursor.fail('Write an expression after the comma, or remove the comma.');
    const expression = grammar.expression();
    if (expression.kind === 'star') parseExcept(grammar, expression);
    const alias = parseAlias(grammar);
    items.push({ expression, ...(alias === undefined ? {} : { alias }) });
  } while (cursor.acceptSign(','));
  return items;
}

/**
 * Reads the columns that a star leaves out: EXCEPT or EXCLUDE, with names in brackets or a single
 * one.
 */
function parseExcept({ cursor }: Grammar, star: ExpressionOf<'star'>): void {
  if (cursor.isWord('REPLACE') && cursor.isSign('(', 1))
    cursor.fail('* REPLACE is not part of the language: write * EXCEPT (x), ... AS x.');
  const isExcept = cursor.isWord('EXCEPT') && (cursor.isSign('(', 1) || cursor.isName(1));
  if (!isExcept && !cursor.isWord('EXCLUDE')) return;
  if (cursor.isWord('SELECT', 2)) return;
  cursor.next();
  const isBracketed = cursor.acceptSign('(');
  star.except = [cursor.name('a column')];
  while (isBracketed && cursor.acceptSign(',')) star.except.push(cursor.name('a column'));
  if (isBracketed) cursor.expectSign(')');
  star.end = cursor.end;
}

function parseAlias({ cursor }: Grammar): Name | undefined {
  if (cursor.acceptWords('AS')) return cursor.anyName();
  return cursor.isName() ? cursor.name('the column or table') : undefined;
}

function parseFrom(grammar: Grammar, core: SelectCore): void {
  const { cursor } = grammar;
  core.from = parseSource(grammar);
  for (;;) {
    const join = parseJoin(grammar);
    if (join === undefined) return;
    core.joins.push(join);
    if (core.joins.length > joins_max)
      cursor.fail(`A SELECT joins at most ${joins_max} tables: take it apart with WITH.`);
  }
}

function parseJoin(grammar: Grammar): Join | undefined {
  const { cursor } = grammar;
  if (cursor.acceptSign(',')) return { kind: 'CROSS', source: parseSource(grammar) };
  if (cursor.acceptWords('CROSS', 'JOIN')) return { kind: 'CROSS', source: parseSource(grammar) };
  const written = (['LEFT', 'RIGHT', 'FULL', 'INNER'] as const).find((one) =>
    cursor.acceptWords(one),
  );
  if (written !== undefined && written !== 'INNER') cursor.acceptWords('OUTER');
  if (!cursor.acceptWords('JOIN'))
    return written === undefined ? undefined : cursor.fail('Write JOIN here.');
  const kind = written ?? 'INNER';
  const source = parseSource(grammar);
  if (cursor.acceptWords('USING')) {
    const isBracketed = cursor.acceptSign('(');
    const using = [cursor.name('a column')];
    while (isBracketed && cursor.acceptSign(',')) using.push(cursor.name('a column'));
    if (isBracketed) cursor.expectSign(')');
    return { kind, source, using };
  }
  cursor.expectWord('ON');
  return { kind, source, on: grammar.expression() };
}

function parseSource(grammar: Grammar): Source {
  const { cursor } = grammar;
  const { start } = cursor.peek();
  if (cursor.acceptSign('(')) {
    const select = grammar.select();
    cursor.expectSign(')');
    const alias = parseAlias(grammar);
    return {
      kind: 'subquery',
      select,
      ...(alias === undefined ? {} : { alias }),
      ...cursor.since(start),
    };
  }
  const name = cursor.name('a table (such as events)');
  if (cursor.isSign('('))
    cursor.fail('Table functions are not part of the language: read from events or persons.');
  if (cursor.isSign('.'))
    cursor.fail('Databases are not part of the language: read from events or persons.');
  const alias = parseAlias(grammar);
  return { kind: 'table', name, ...(alias === undefined ? {} : { alias }), ...cursor.since(start) };
}

function parseClauses(grammar: Grammar, core: SelectCore): void {
  const { cursor } = grammar;
  if (cursor.acceptWords('WHERE')) core.where = grammar.expression();
  if (cursor.acceptWords('GROUP', 'BY')) {
    core.group_by_all = cursor.acceptWords('ALL');
    if (!core.group_by_all) core.group_by = parseExpressions(grammar);
    if (cursor.isWord('WITH'))
      cursor.fail(
        'TOTALS, ROLLUP and CUBE are not part of the language: write the groups with UNION ALL.',
      );
  }
  if (cursor.acceptWords('HAVING')) core.having = grammar.expression();
  if (cursor.acceptWords('WINDOW')) {
    do {
      const name = cursor.name('a window');
      cursor.expectWord('AS');
      core.windows.push({ name, window: parseWindow(grammar) });
    } while (cursor.acceptSign(','));
  }
  if (cursor.acceptWords('QUALIFY')) core.qualify = grammar.expression();
  if (cursor.acceptWords('ORDER', 'BY')) core.order_by = parseOrder(grammar);
  parseLimits(grammar, core);
}

function parseLimits(grammar: Grammar, core: SelectCore): void {
  const { cursor } = grammar;
  while (cursor.acceptWords('LIMIT')) {
    const first = parseCount(grammar);
    const second = cursor.acceptSign(',') ? parseCount(grammar) : undefined;
    const offset =
      second === undefined ? (cursor.acceptWords('OFFSET') ? parseCount(grammar) : 0) : first;
    const count = second ?? first;
    if (cursor.acceptWords('BY')) {
      if (core.limit_by !== undefined) cursor.fail('A SELECT has one LIMIT BY.');
      core.limit_by = { count, offset, by: parseExpressions(grammar) };
      continue;
    }
    core.limit = count;
    if (offset > 0) core.offset = offset;
    return;
  }
  if (cursor.acceptWords('OFFSET')) core.offset = parseCount(grammar);
}

function parseCount({ cursor }: Grammar): number {
  const token = cursor.peek();
  const count = token.kind === 'number' ? Number(token.value) : NaN;
  if (!Number.isSafeInteger(count)) cursor.fail('Write a whole number here.');
  cursor.next();
  return count;
}
