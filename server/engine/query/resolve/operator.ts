import { apply, canonicalText, local } from './apply.ts';
import { choose, coalesce, condition } from './choose.ts';
import { coerce } from '../values/coerce.ts';
import { compare } from '../values/compare.ts';
import type { Comparison } from '../values/compare.ts';
import { Fault } from '../fault.ts';
import type { Expression, ExpressionOf } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType, isTextual } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Scope } from './scope.ts';

/**
 * Most characters of a LIKE pattern, and most of its wildcards: matching takes time by their
 * product.
 */
const pattern_characters_max = 1_000;
const pattern_wildcards_max = 16;

const like_functions = {
  LIKE: 'like',
  ILIKE: 'ilike',
  'NOT LIKE': 'notLike',
  'NOT ILIKE': 'notILike',
} as const;
const arithmetic = {
  '+': 'plus',
  '-': 'minus',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
} as const;

/** Returns the value of an operator's node. */
export function resolveOperator(
  scope: Scope,
  node: ExpressionOf<
    'not' | 'minus' | 'binary' | 'between' | 'like' | 'is_null' | 'case' | 'interval'
  >,
): Value {
  switch (node.kind) {
    case 'not':
      return resolveNot(condition(scope, node.operand), node);
    case 'minus':
      return resolveMinus(scope, node);
    case 'binary':
      return resolveBinary(scope, node);
    case 'between': {
      const operand = valueOf(scope, node.operand);
      const low = compare(scope.context.writer, '>=', operand, valueOf(scope, node.low), node);
      const high = compare(scope.context.writer, '<=', operand, valueOf(scope, node.high), node);
      const both = boolean(`and(${low.sql}, ${high.sql})`, [low, high], node);
      return node.negated ? resolveNot(both, node) : both;
    }
    case 'like':
      return resolveLike(scope, node);
    case 'is_null': {
      const operand = valueOf(scope, node.operand);
      return compose(
        `${node.negated ? 'isNotNull' : 'isNull'}(${operand.sql})`,
        { kind: 'boolean', nullable: false, items: [] },
        node,
        [operand],
      );
    }
    case 'case':
      return resolveCase(scope, node);
    case 'interval': {
      const count = valueOf(scope, node.count);
      const integer = coerce(scope.context.writer, count, 'integer');
      if (integer === undefined)
        throw new Fault('The count of an INTERVAL is a whole number.', count.span);
      const unit = node.unit.charAt(0) + node.unit.slice(1).toLowerCase();
      return compose(
        `toInterval${unit}(${integer.sql})`,
        { kind: 'interval', nullable: integer.type.nullable, items: [] },
        node,
        [integer],
      );
    }
  }
}

function boolean(sql: string, parts: Value[], span: { start: number; end: number }): Value {
  return compose(
    sql,
    { kind: 'boolean', nullable: parts.some((part) => part.type.nullable), items: [] },
    span,
    parts,
  );
}

function resolveNot(operand: Value, node: Expression): Value {
  return boolean(`not(${operand.sql})`, [operand], node);
}

function resolveMinus(scope: Scope, node: ExpressionOf<'minus'>): Value {
  // A negative number is one literal, so that the lowest integer can be written.
  if (node.operand.kind === 'number')
    return valueOf(scope, {
      ...node.operand,
      digits: `-${node.operand.digits}`,
      start: node.start,
      end: node.end,
    });
  return apply(scope, 'negate', [valueOf(scope, node.operand)], node);
}

function resolveBinary(scope: Scope, node: ExpressionOf<'binary'>): Value {
  const { operator } = node;
  if (operator === '??') {
    const values = operands(node, operator).map((operand) => valueOf(scope, operand));
    return coalesce(scope.context, operator, values, node);
  }
  if (operator === 'AND' || operator === 'OR') {
    const parts = operands(node, operator).map((operand) => condition(scope, operand));
    return boolean(
      `${operator.toLowerCase()}(${parts.map((part) => part.sql).join(', ')})`,
      parts,
      node,
    );
  }
  const [left, right] = [valueOf(scope, node.left), valueOf(scope, node.right)];
  if (operator === '||') return apply(scope, 'concat', [left, right], node);
  const name = arithmetic[operator as keyof typeof arithmetic] as string | undefined;
  return name === undefined
    ? compare(scope.context.writer, operator as Comparison, left, right, node)
    : resolveArithmetic(scope, name, [left, right], node);
}

/**
 * Returns the operands of a row of equal operators, which becomes one call: long rows would nest
 * too deep for ClickHouse.
 */
function operands(node: ExpressionOf<'binary'>, operator: 'AND' | 'OR' | '??'): Expression[] {
  const found: Expression[] = [node.right];
  let left = node.left;
  while (left.kind === 'binary' && left.operator === operator) {
    found.unshift(left.right);
    left = left.left;
  }
  return [left, ...found];
}

function resolveArithmetic(
  scope: Scope,
  name: string,
  [left, right]: [Value, Value],
  node: Expression,
): Value {
  const isTime = (value: Value) => value.type.kind === 'timestamp' || value.type.kind === 'date';
  if (right.type.kind === 'interval' && (name === 'plus' || name === 'minus')) {
    const instant = coerce(scope.context.writer, left, 'timestamp');
    if (instant === undefined)
      throw new Fault(
        `An INTERVAL can be added to a timestamp or a date; this is ${describeType(left.type)}.`,
        left.span,
      );
    const type = { ...instant.type, nullable: instant.type.nullable || right.type.nullable };
    const moved = `${name}(${local(instant.sql, instant)}, ${right.sql})`;
    const sql = instant.zone === undefined ? moved : canonicalText(moved, 'timestamp');
    return compose(sql, type, node, [instant, right]);
  }
  if (isTime(left) && isTime(right))
    throw new Fault("Write dateDiff('second', a, b) for the time between two instants.", node);
  if (isTime(left) || isTime(right))
    throw new Fault(
      'Add an INTERVAL to timestamps and dates: write timestamp + INTERVAL 1 DAY.',
      node,
    );
  return apply(scope, name, [left, right], node);
}

function resolveLike(scope: Scope, node: ExpressionOf<'like'>): Value {
  const operand = valueOf(scope, node.operand);
  if (!isTextual(operand.type.kind))
    throw new Fault(
      `LIKE is for text, this is ${describeType(operand.type)}: write toString(...).`,
      operand.span,
    );
  if (node.pattern.kind !== 'text')
    throw new Fault(
      "The pattern of LIKE is written as text, as in LIKE 'a%'; use startsWith or position " +
        'for other texts.',
      node.pattern,
    );
  const { value } = node.pattern;
  if (
    value.length > pattern_characters_max ||
    (value.match(/[%_]/g)?.length ?? 0) > pattern_wildcards_max
  )
    throw new Fault(
      `A pattern of LIKE has at most ${pattern_characters_max} characters and ` +
        `${pattern_wildcards_max} wildcards (% and _).`,
      node.pattern,
    );
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(value))
    throw new Fault(
      'The pattern ends with a lone backslash: write \\\\\\\\ for a backslash in LIKE.',
      node.pattern,
    );
  const pattern = valueOf(scope, node.pattern);
  const name =
    like_functions[`${node.negated ? 'NOT ' : ''}${node.insensitive ? 'ILIKE' : 'LIKE'}`];
  return boolean(`${name}(${operand.sql}, ${pattern.sql})`, [operand, pattern], node);
}

function resolveCase(scope: Scope, node: ExpressionOf<'case'>): Value {
  const operand = node.operand && valueOf(scope, node.operand);
  const whens = node.branches.map(({ when }) =>
    operand === undefined
      ? condition(scope, when)
      : compare(scope.context.writer, '=', operand, valueOf(scope, when), when),
  );
  const otherwise: Expression = node.otherwise ?? { kind: 'null', start: node.end, end: node.end };
  const results = [...node.branches.map(({ result }) => result), otherwise].map((result) =>
    valueOf(scope, result),
  );
  return choose(scope.context, whens, results, node);
}
