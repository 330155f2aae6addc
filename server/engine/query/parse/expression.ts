import { Fault } from '../fault.ts';
import { parseInBrackets, parseList, parseTypeName } from './grammar.ts';
import type { Grammar } from './grammar.ts';
import { parsePrimary } from './primary.ts';
import type { BinaryOperator, Expression } from './tree.ts';

const not_power = 3;
const nullish_power = 4;
const comparison_power = 5;
const minus_power = 9;
const cast_power = 10;

// Precedence of operators; equal ones group to the left.
const powers: Readonly<Record<string, number | undefined>> = {
  OR: 1,
  AND: 2,
  '=': comparison_power,
  '==': comparison_power,
  '!=': comparison_power,
  '<>': comparison_power,
  '<': comparison_power,
  '<=': comparison_power,
  '>': comparison_power,
  '>=': comparison_power,
  '??': nullish_power,
  '||': 6,
  '+': 7,
  '-': 7,
  '*': 8,
  '/': 8,
  '%': 8,
};
const spellings: Record<string, BinaryOperator> = { '==': '=', '<>': '!=' };
const comparisons = new Set(['between', 'like', 'in_list', 'in_select', 'is_null']);
const predicates = new Set(['IS', 'IN', 'LIKE', 'ILIKE', 'BETWEEN', 'NOT']);
/** Most operators in a row on one operand, such as casts. */
const links_max = 30;

/**
 * Reads an expression whose operators all bind more strongly than `power` (Pratt). Throws a `Fault`
 * if there is none.
 */
export function parseExpression(grammar: Grammar, power = 0): Expression {
  return grammar.cursor.deeper(() => parseOperators(grammar, parsePrefix(grammar), power));
}

function parsePrefix(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const { start } = cursor.peek();
  if (cursor.acceptWords('NOT')) {
    const operand = parseExpression(grammar, not_power - 1);
    return { kind: 'not', operand, ...cursor.since(start) };
  }
  if (!cursor.acceptSign('-')) return parsePrimary(grammar);
  const operand = parseExpression(grammar, minus_power);
  return { kind: 'minus', operand, ...cursor.since(start) };
}

function parseOperators(grammar: Grammar, first: Expression, power: number): Expression {
  const { cursor } = grammar;
  let left = first;
  for (let links = 0; ;) {
    const token = cursor.peek();
    const spelling =
      token.kind === 'word' ? token.value.toUpperCase() : token.kind === 'sign' ? token.value : '';
    const binary = powers[spelling];
    if (binary !== undefined && binary > power) {
      if (spelling === '??') refuseComparison(left, cursor.end);
      cursor.next();
      const right = parseExpression(grammar, binary);
      if (spelling === '??') refuseComparison(right, cursor.end);
      left = {
        kind: 'binary',
        operator: spellings[spelling] ?? (spelling as BinaryOperator),
        left,
        right,
        ...cursor.since(left.start),
      };
      continue;
    }
    // Each of these encloses all earlier ones.
    links += 1;
    if (links > links_max)
      cursor.fail(`More than ${links_max} operators follow each other: split the expression.`);
    if (spelling === '::' && power < cast_power) {
      cursor.next();
      const type = parseTypeName(grammar);
      left = { kind: 'cast', operand: left, type, ...cursor.since(left.start) };
    } else if (predicates.has(spelling) && comparison_power > power)
      left = parsePredicate(grammar, left);
    else return left;
  }
}

/**
 * Comparisons bind more strongly than `??`, which authors who omit the brackets hardly intend;
 * `end` is the end of the operand's text, including its brackets.
 */
function refuseComparison(operand: Expression, end: number): void {
  const isComparison =
    operand.kind === 'binary'
      ? powers[operand.operator] === comparison_power
      : comparisons.has(operand.kind);
  if (isComparison && operand.end === end)
    throw new Fault('Next to ??, put a comparison in brackets: write (a ?? b) = c.', operand);
}

function parsePredicate(grammar: Grammar, operand: Expression): Expression {
  const { cursor } = grammar;
  if (cursor.acceptWords('IS')) {
    const negated = cursor.acceptWords('NOT');
    cursor.expectWord('NULL');
    return { kind: 'is_null', negated, operand, ...cursor.since(operand.start) };
  }
  const negated = cursor.acceptWords('NOT');
  if (cursor.acceptWords('BETWEEN')) {
    const low = parseExpression(grammar, comparison_power);
    cursor.expectWord('AND');
    const high = parseExpression(grammar, comparison_power);
    return { kind: 'between', negated, operand, low, high, ...cursor.since(operand.start) };
  }
  if (cursor.acceptWords('IN')) return parseIn(grammar, operand, negated);
  const insensitive = cursor.acceptWords('ILIKE');
  if (!insensitive && !cursor.acceptWords('LIKE'))
    cursor.fail('Write IN, LIKE, ILIKE or BETWEEN after NOT.');
  const pattern = parseExpression(grammar, comparison_power);
  return { kind: 'like', negated, insensitive, operand, pattern, ...cursor.since(operand.start) };
}

function parseIn(grammar: Grammar, operand: Expression, negated: boolean): Expression {
  const { cursor } = grammar;
  if (cursor.isName())
    cursor.fail('IN needs a list or a SELECT in brackets. Write IN (SELECT ... FROM ...).');
  let items: Expression[];
  if (cursor.acceptSign('[')) items = parseList(grammar, ']');
  else {
    cursor.expectSign('(');
    const inside = parseInBrackets(grammar);
    if ('select' in inside)
      return {
        kind: 'in_select',
        negated,
        operand,
        select: inside.select,
        ...cursor.since(operand.start),
      };
    ({ items } = inside);
  }
  if (items.length === 0) cursor.fail('A list after IN needs at least one value.');
  return { kind: 'in_list', negated, operand, items, ...cursor.since(operand.start) };
}
