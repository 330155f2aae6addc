import type { Grammar } from './grammar.ts';
import type { Expression, Frame, FrameBound, OrderItem, Window } from './tree.ts';

const rows_max = 1_000_000_000;

/** Reads a window in brackets: PARTITION BY, ORDER BY and a frame, each optional. */
export function parseWindow(grammar: Grammar): Window {
  const { cursor } = grammar;
  cursor.expectSign('(');
  const window: Window = { partition_by: [], order_by: [] };
  if (cursor.acceptWords('PARTITION', 'BY')) window.partition_by = parseExpressions(grammar);
  if (cursor.acceptWords('ORDER', 'BY')) window.order_by = parseOrder(grammar);
  const unit = cursor.acceptWords('ROWS')
    ? 'ROWS'
    : cursor.acceptWords('RANGE')
      ? 'RANGE'
      : undefined;
  if (unit !== undefined) window.frame = parseFrame(grammar, unit);
  cursor.expectSign(')');
  return window;
}

/** Reads one or more expressions separated by commas. */
export function parseExpressions(grammar: Grammar): Expression[] {
  const expressions = [grammar.expression()];
  while (grammar.cursor.acceptSign(',')) expressions.push(grammar.expression());
  return expressions;
}

/** Reads the entries of ORDER BY. */
export function parseOrder(grammar: Grammar): OrderItem[] {
  const { cursor } = grammar;
  const items: OrderItem[] = [];
  do {
    const expression = grammar.expression();
    const descending = cursor.acceptWords('DESC') || (cursor.acceptWords('ASC'), false);
    const nulls = cursor.acceptWords('NULLS', 'FIRST')
      ? 'FIRST'
      : cursor.acceptWords('NULLS', 'LAST')
        ? 'LAST'
        : undefined;
    items.push({ expression, descending, ...(nulls === undefined ? {} : { nulls }) });
  } while (cursor.acceptSign(','));
  return items;
}

function parseFrame(grammar: Grammar, unit: Frame['unit']): Frame {
  const { cursor } = grammar;
  if (!cursor.acceptWords('BETWEEN'))
    return { unit, from: parseBound(grammar), to: { kind: 'current' } };
  const from = parseBound(grammar);
  cursor.expectWord('AND');
  return { unit, from, to: parseBound(grammar) };
}

function parseBound({ cursor }: Grammar): FrameBound {
  if (cursor.acceptWords('CURRENT', 'ROW')) return { kind: 'current' };
  let rows: number | undefined;
  if (!cursor.acceptWords('UNBOUNDED')) {
    const token = cursor.peek();
    if (cursor.isWord('INTERVAL'))
      cursor.fail(
        'A frame has no INTERVAL: write ORDER BY toUnixTimestamp(timestamp) RANGE BETWEEN 3600 ' +
          'PRECEDING AND CURRENT ROW for an hour.',
      );
    rows = token.kind === 'number' ? Number(token.value) : NaN;
    if (!Number.isInteger(rows) || rows > rows_max)
      cursor.fail(`Write UNBOUNDED, CURRENT ROW or a whole number up to ${rows_max} here.`);
    cursor.next();
  }
  if (cursor.acceptWords('PRECEDING'))
    return { kind: 'preceding', ...(rows === undefined ? {} : { rows }) };
  cursor.expectWord('FOLLOWING');
  return { kind: 'following', ...(rows === undefined ? {} : { rows }) };
}
