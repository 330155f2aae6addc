import { canonicalText } from './apply.ts';
import { bind } from './arguments/bind.ts';
import { condition } from './choose.ts';
import { Fault } from '../fault.ts';
import type { AggregateName } from '../functions/find.ts';
import type { Expression, ExpressionOf } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { isContainer, orNull, typeOf } from '../values/value_type.ts';
import type { ValueType } from '../values/value_type.ts';
import { refuseAggregate, valueOf } from './scope.ts';
import type { Scope } from './scope.ts';

const takes_distinct = new Set(['count', 'sum', 'avg', 'groupArray']);
const levels_max = 20;

/**
 * The parts of an aggregate's call in ClickHouse: `name(levels)(texts)`, which `wrap` converts to
 * the documented type.
 */
export type AggregateCall = {
  call: string;
  wrap: (sql: string) => string;
  type: ValueType;
  values: Value[];
};

/** Returns the value of an aggregate without OVER. Throws a `Fault` if its place allows none. */
export function resolveAggregate(
  scope: Scope,
  node: ExpressionOf<'call'>,
  name: AggregateName,
): Value {
  if (scope.aggregates_refused !== undefined) throw refuseAggregate(scope.aggregates_refused, node);
  const inner: Scope = {
    ...scope,
    aggregates_refused: 'inside another one',
    windows_refused: 'inside an aggregate',
    keys: new Set(),
    alias_values: new Map(),
  };
  const { call, wrap, type, values } = aggregateCall(inner, node, name);
  const value = compose(wrap(call), type, node, values);
  return { ...value, traits: { ...value.traits, loose: undefined, aggregates: true } };
}

/**
 * Returns an aggregate's call, with its arguments resolved in the scope. The result does not depend
 * on the order of the rows.
 */
export function aggregateCall(
  scope: Scope,
  node: ExpressionOf<'call'>,
  name: AggregateName,
): AggregateCall {
  const { base, or_null } = name;
  const { definition } = base;
  const args = node.args.filter((arg) => arg.kind !== 'star');
  if (args.length < node.args.length && definition.name !== 'count')
    throw new Fault(`\`${definition.name}\` takes values: name the column instead of *.`, node);
  const written = name.has_condition ? args.pop() : undefined;
  if (name.has_condition && written === undefined)
    throw new Fault(`\`${node.name.text}\` takes a condition as its last argument.`, node);
  const tests = [written, node.filter]
    .filter((one) => one !== undefined)
    .map((one) => condition(scope, one));
  const levels = readLevels(node, base.signatures[0]!.levels);
  const counted = distinctName(node, definition.name);
  const binding =
    counted.name === 'uniqExact'
      ? uniqArguments(scope, args, node)
      : bind(
          scope,
          base,
          args.map((arg) => ({ node: arg })),
          node,
        );
  const shape = shapeOf(
    counted.name,
    binding.texts,
    binding.values,
    tests.map(({ sql }) => sql),
  );
  const engine = definition.engine ?? counted.name;
  const ending =
    `${counted.distinct}${shape.tests.length > 0 ? 'If' : ''}` + (or_null ? 'OrNull' : '');
  const test = shape.tests.length > 1 ? `and(${shape.tests.join(', ')})` : shape.tests[0];
  const given = [...shape.texts, ...(test === undefined ? [] : [test])];
  const call = `${engine}${ending}${levels}(${given.join(', ')})`;
  const type = or_null ? orNull(binding.type) : itemsWithoutNull(binding.type);
  if (or_null && isContainer(type.kind))
    throw new Fault(`\`${definition.name}\` has no OrNull: its result is never NULL.`, node);
  const wrap = (sql: string) =>
    isContainer(type.kind) && counted.name.startsWith('group')
      ? `arraySort(${sql})`
      : definition.exact
        ? sql
        : canonicalText(sql, type.kind);
  return { call, wrap, type, values: [...binding.values, ...tests] };
}

function uniqArguments(scope: Scope, args: Expression[], node: ExpressionOf<'call'>) {
  if (args.length === 0)
    throw new Fault('DISTINCT needs a value: write count(DISTINCT distinct_id).', node);
  const values = args.map((arg) => valueOf(scope, arg));
  return { texts: values.map(({ sql }) => sql), values, type: typeOf('integer') };
}

function distinctName(
  node: ExpressionOf<'call'>,
  name: string,
): { name: string; distinct: string } {
  if (!node.distinct) return { name, distinct: '' };
  if (!takes_distinct.has(name)) throw new Fault(`\`${name}\` has no DISTINCT.`, node);
  if (name === 'count') return { name: 'uniqExact', distinct: '' };
  return name === 'groupArray'
    ? { name: 'groupUniqArray', distinct: '' }
    : { name, distinct: 'Distinct' };
}

function readLevels(node: ExpressionOf<'call'>, wanted: 'none' | 'one' | 'many'): string {
  const { parameters } = node;
  if (wanted === 'none' && parameters === undefined)
    return node.name.text.startsWith('median') ? '(0.5)' : '';
  const isCount =
    parameters !== undefined &&
    parameters.length > 0 &&
    parameters.length <= (wanted === 'many' ? levels_max : 1);
  const isLevel = (one: Expression) => one.kind === 'number' && Number(one.digits) <= 1;
  if (wanted === 'none' || !isCount || !parameters.every(isLevel))
    throw new Fault(
      wanted === 'none'
        ? `\`${node.name.text}\` has one pair of brackets.`
        : `\`${node.name.text}\` is written with a level from 0 to 1: quantile(0.9)(x).`,
      node,
    );
  const numbers = parameters.map((one) => Number((one as ExpressionOf<'number'>).digits));
  return `(${numbers.join(', ')})`;
}

/**
 * Several rows can be smallest or largest; their own value then decides, so that the result is
 * fixed. NULLs count neither as value nor as key.
 */
function shapeOf(
  name: string,
  texts: string[],
  values: Value[],
  tests: string[],
): { texts: string[]; tests: string[] } {
  if (name !== 'argMin' && name !== 'argMax') return { texts, tests };
  const [value, key] = texts.map((text, index) =>
    values[index]!.type.nullable ? `assumeNotNull(${text})` : text,
  );
  const present = texts
    .filter((_text, index) => values[index]!.type.nullable)
    .map((text) => `isNotNull(${text})`);
  return { texts: [texts[0]!, `tuple(${key}, ${value})`], tests: [...tests, ...present] };
}

/** Arrays from aggregates omit NULL. */
function itemsWithoutNull(type: ValueType): ValueType {
  return type.kind === 'array'
    ? { ...type, items: type.items.map((item) => ({ ...item, nullable: false })) }
    : type;
}
