import { coerce, literalOf } from '../values/coerce.ts';
import { compare } from '../values/compare.ts';
import { Fault } from '../fault.ts';
import type { ExpressionOf } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType, isContainer, isNumeric, isTextual, unify } from '../values/value_type.ts';
import type { ValueType } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Context, Scope } from './scope.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * Resolves `x IN (a, b)`: true if x equals one of them; a list of literals becomes one parameter.
 */
export function resolveInList(scope: Scope, node: ExpressionOf<'in_list'>): Value {
  const operand = valueOf(scope, node.operand);
  const nullItem = node.items.find((item) => item.kind === 'null');
  if (nullItem !== undefined)
    throw new Fault('IN never matches NULL: write x IS NULL as well.', nullItem);
  const items = node.items.map((item) => valueOf(scope, item));
  const found =
    inParameter(scope.context, operand, items, node) ?? inEach(scope.context, operand, items, node);
  return node.negated ? compose(`not(${found.sql})`, found.type, node, [found]) : found;
}

function inParameter(
  { writer }: Context,
  operand: Value,
  items: Value[],
  node: ExpressionOf<'in_list'>,
): Value | undefined {
  const contents = items.map(({ literal }) => literal);
  const result = (sql: string, nullable: boolean) =>
    compose(sql, { kind: 'boolean', nullable, items: [] }, node, [operand]);
  const { kind, nullable } = operand.type;
  const texts = contents.every((content) => typeof content === 'string') ? contents : undefined;
  if (isTextual(kind) && texts !== undefined)
    return result(`in(${operand.sql}, ${writer.list('String', texts)})`, nullable);
  const integers = items.every(
    ({ type, literal }) => typeof literal === 'bigint' && type.kind === 'integer',
  )
    ? contents.map(String)
    : undefined;
  if (kind === 'integer' && integers !== undefined)
    return result(`in(${operand.sql}, ${writer.list('Int64', integers)})`, nullable);
  if (kind === 'property' && integers !== undefined) {
    const [whole, float] = [coerce(writer, operand, 'integer')!, coerce(writer, operand, 'float')!];
    return result(
      `coalesce(in(${whole.sql}, ${writer.list('Int64', integers)}), in(${float.sql}, ` +
        `${writer.list('Float64', integers)}))`,
      true,
    );
  }
  const literals = texts?.map((text) => literalOf(text, kind));
  const [first] = literals ?? [];
  if (first === undefined || literals?.some((literal) => literal === undefined) !== false)
    return undefined;
  return result(
    `in(${operand.sql}, ${writer.list(
      first.type,
      literals.map((literal) => literal!.content),
    )})`,
    nullable,
  );
}

function inEach(
  context: Context,
  operand: Value,
  items: Value[],
  node: ExpressionOf<'in_list'>,
): Value {
  const tests = items.map((item) => compare(context.writer, '=', operand, item, item.span));
  const nullable = tests.some(({ type }) => type.nullable);
  return compose(
    tests.length === 1 ? tests[0]!.sql : `or(${tests.map(({ sql }) => sql).join(', ')})`,
    { kind: 'boolean', nullable, items: [] },
    node,
    [operand, ...items],
  );
}

/** Resolves `x IN (SELECT ...)`: true if x, or a tuple, is among the rows of a look-up. */
export function resolveInSelect(scope: Scope, node: ExpressionOf<'in_select'>): Value {
  const operand = valueOf(scope, node.operand);
  const select = scope.context.lookUp(node.select, scope.withs);
  const wanted = operand.type.kind === 'tuple' ? operand.type.items : [operand.type];
  if (wanted.length !== select.columns.length)
    throw new Fault(
      `This SELECT gives ${counted(select.columns.length, 'column')} for ${wanted.length} on ` +
        `the left ` +
        'of IN.',
      node.select,
    );
  const [only] = select.columns;
  let left = operand;
  if (wanted.length === 1 && only !== undefined && !areComparable(operand.type, only.type)) {
    const fitted = coerce(scope.context.writer, operand, only.type.kind);
    if (fitted === undefined)
      throw new Fault(
        `The SELECT gives ${describeType(only.type)}, on the left of IN stands ` +
          `${describeType(operand.type)}: convert one of them.`,
        node,
      );
    left = fitted;
  } else if (wanted.some((type, index) => !areComparable(type, select.columns[index]!.type)))
    throw new Fault(
      'The columns of the SELECT are of other types than those on the left of IN: convert them.',
      node,
    );
  return compose(
    `${node.negated ? 'notIn' : 'in'}(${left.sql}, ${select.text})`,
    { kind: 'boolean', nullable: left.type.nullable, items: [] },
    node,
    [left],
  );
}

function areComparable(one: ValueType, other: ValueType): boolean {
  if (isContainer(one.kind)) return unify([one, other]) !== undefined;
  return (
    one.kind === other.kind ||
    (isTextual(one.kind) && isTextual(other.kind)) ||
    (isNumeric(one.kind) && isNumeric(other.kind))
  );
}
