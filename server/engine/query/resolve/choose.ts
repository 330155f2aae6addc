import { align, coerceCondition } from '../values/coerce.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import type { Expression } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Context, Scope } from './scope.ts';

/** Returns the value of a node that must be true or false. */
export function condition(scope: Scope, node: Expression): Value {
  const value = valueOf(scope, node);
  const asCondition = coerceCondition(scope.context.writer, value);
  if (asCondition === undefined)
    throw new Fault(
      `A condition is expected here, this is ${describeType(value.type)}: compare it with ` +
        'something.',
      node,
    );
  return asCondition;
}

/** Returns the first value that is not NULL. */
export function coalesce(context: Context, name: string, values: Value[], span: Span): Value {
  const aligned = align(context.writer, values);
  if (aligned === undefined)
    throw new Fault(
      `\`${name}\` needs values of one type, these are ` +
        `${values.map(({ type }) => describeType(type)).join(' and ')}: convert them.`,
      span,
    );
  const nullable = aligned.values.every(({ type }) => type.nullable);
  return compose(
    `coalesce(${aligned.values.map(({ sql }) => sql).join(', ')})`,
    { ...aligned.type, nullable },
    span,
    values,
  );
}

/** Returns the first result whose condition holds, or else the last one. */
export function choose(context: Context, whens: Value[], results: Value[], span: Span): Value {
  const aligned = align(context.writer, results);
  if (aligned === undefined)
    throw new Fault(
      'The results are of several types ' +
        `(${[...new Set(results.map(({ type }) => describeType(type)))].join(', ')}): convert ` +
        'them to one.',
      span,
    );
  const texts = whens.flatMap((when, index) => [when.sql, aligned.values[index]!.sql]);
  return compose(
    `multiIf(${[...texts, aligned.values.at(-1)!.sql].join(', ')})`,
    aligned.type,
    span,
    [...whens, ...results],
  );
}
