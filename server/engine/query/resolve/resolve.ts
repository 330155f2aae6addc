import { castTo } from './convert.ts';
import { Fault, FinalFault } from '../fault.ts';
import { resolveAccess } from './name.ts';
import { resolveCall, resolveItems } from './call.ts';
import { resolveInList, resolveInSelect } from './in_list.ts';
import { resolveOperator } from './operator.ts';
import type { Expression, ExpressionOf } from '../parse/tree.ts';
import { compose, nullValue, plain_traits } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { isTooLarge, orNull, typeOf } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Context, Scope } from './scope.ts';

/** Most nested expressions, with aliases expanded. */
const levels_max = 200;
/**
 * Most work of one compilation, in characters of all intermediate expressions, so that small texts
 * that repeat large ones end early.
 */
const written_max = 4_000_000;
/** Cost of resolving one expression, however short its text is. */
const written_by_each = 100;
const int64_min = -(2n ** 63n);
const int64_max = 2n ** 63n - 1n;
const uint64_max = 2n ** 64n - 1n;

/** Depth of a compilation in expressions and SELECTs, and the length of its output. */
export type Levels = { expressions: number; selects: number; written: number };

/**
 * Resolves an expression in a scope to ClickHouse text and type. Guarantee: the text contains no
 * word of the query: names come from the printer, contents of literals are parameters, functions
 * are the listed ones. Throws a `Fault` for an expression without a meaning.
 */
export function resolve(levels: Levels, scope: Scope, node: Expression): Value {
  levels.expressions += 1;
  try {
    if (levels.expressions > levels_max)
      throw new Fault(
        `The query is nested more than ${levels_max} levels deep when its aliases are expanded.`,
        node,
      );
    const value = resolveNode(scope, node);
    levels.written += written_by_each + value.sql.length;
    if (levels.written > written_max)
      throw new FinalFault(
        'The query grows too large when its aliases, windows and WITH entries are expanded: use ' +
          'them less often.',
        node,
      );
    if (isTooLarge(value.type))
      throw new Fault('This value has too many parts: nest fewer tuples and arrays.', node);
    const known = scope.keys.has(value.sql)
      ? { ...value, traits: { ...value.traits, loose: undefined } }
      : value;
    return {
      ...(isRepeated(scope, node, known) ? { ...known, sql: `materialize(${known.sql})` } : known),
      span: { start: node.start, end: node.end },
    };
  } finally {
    levels.expressions -= 1;
  }
}

/**
 * A constant array, such as that of a scalar subquery, would be searched for each item of another
 * one, in time that no limit of ClickHouse bounds. As a full column, it needs memory first, which
 * has a limit.
 */
function isRepeated(scope: Scope, node: Expression, { type }: Value): boolean {
  if (type.kind !== 'array' && type.kind !== 'map') return false;
  if (node.kind === 'select') return true;
  return (
    scope.lambdas.length > 0 &&
    !(
      node.kind === 'column' &&
      scope.lambdas.some((parameters) => parameters.has(node.parts[0]!.text))
    )
  );
}

function resolveNode(scope: Scope, node: Expression): Value {
  switch (node.kind) {
    case 'null':
      return nullValue(node);
    case 'boolean':
      return {
        sql: String(node.value),
        type: typeOf('boolean'),
        span: node,
        traits: plain_traits,
        literal: node.value,
      };
    case 'text':
      return {
        sql: scope.context.writer.parameter('String', node.value),
        type: typeOf('text'),
        span: node,
        traits: plain_traits,
        literal: node.value,
      };
    case 'number':
      return resolveNumber(scope.context, node);
    case 'column':
    case 'field':
    case 'element':
    case 'tuple_element':
      return resolveAccess(scope, node);
    case 'call':
      return resolveCall(scope, node);
    case 'cast':
      return castTo(scope.context, valueOf(scope, node.operand), node.type, node);
    case 'in_list':
      return resolveInList(scope, node);
    case 'in_select':
      return resolveInSelect(scope, node);
    case 'array':
    case 'tuple':
      return resolveItems(scope, node);
    case 'select':
      return resolveScalarSelect(scope, node);
    case 'lambda':
      throw new Fault(
        'A lambda is allowed only as the first argument of a function such as arrayMap; a ' +
          'property ' +
          'is written properties.name.',
        node,
      );
    case 'star':
      throw new Fault('Use * only in the SELECT list and in count(*).', node);
    default:
      return resolveOperator(scope, node);
  }
}

function resolveNumber({ writer }: Context, node: ExpressionOf<'number'>): Value {
  const created = (
    sql: string,
    kind: 'integer' | 'unsigned' | 'float',
    literal: number | bigint,
  ): Value => ({
    sql,
    type: typeOf(kind),
    span: node,
    traits: plain_traits,
    literal,
  });
  if (/^-?\d+$/.test(node.digits)) {
    const whole = BigInt(node.digits);
    if (whole >= int64_min && whole <= int64_max)
      return created(writer.parameter('Int64', whole.toString()), 'integer', whole);
    if (whole >= 0n && whole <= uint64_max)
      return created(writer.parameter('UInt64', whole.toString()), 'unsigned', whole);
    throw new Fault(
      'This integer has more than 64 bits: write it as text, or with a decimal point.',
      node,
    );
  }
  const float = Number(node.digits);
  if (!Number.isFinite(float)) throw new Fault('This number is too large for a float.', node);
  return created(writer.parameter('Float64', String(float)), 'float', float);
}

/** Returns the one value of a SELECT with one column and at most one row; NULL without a row. */
function resolveScalarSelect(scope: Scope, node: ExpressionOf<'select'>): Value {
  const select = scope.context.lookUp(node.select, scope.withs);
  const [only, ...others] = select.columns;
  if (only === undefined || others.length > 0)
    throw new Fault(
      `A SELECT that stands for a value gives one column, not ${select.columns.length}.`,
      node,
    );
  return compose(select.text, orNull(only.type), node, []);
}
