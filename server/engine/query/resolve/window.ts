import { canonicalText } from './apply.ts';
import { bind } from './arguments/bind.ts';
import { Fault } from '../fault.ts';
import { findAggregate, findFunction } from '../functions/find.ts';
import { printFrame } from '../parse/print_frame.ts';
import { aggregateCall } from './aggregate.ts';
import type { AggregateCall } from './aggregate.ts';
import { unknownFunction } from './unknown_function.ts';
import type { ExpressionOf, OrderItem, Window } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { refuseWindow, valueOf } from './scope.ts';
import type { Scope } from './scope.ts';

// Rows that are equal by ORDER BY share one rank, so no tie-breaker may separate them.
const ranks = new Set(['rank', 'dense_rank', 'percent_rank']);
// They read beyond any frame, and ClickHouse refuses one.
const shifts = new Set(['lag', 'lead']);
const respecting = /_respect_nulls$/;

/** Returns the value of a call with OVER. Throws a `Fault` if its place allows none. */
export function resolveWindowCall(scope: Scope, node: ExpressionOf<'call'>): Value {
  if (scope.windows_refused !== undefined) throw refuseWindow(scope.windows_refused, node);
  if (scope.lambdas.length > 0) throw refuseWindow('inside a lambda', node);
  const inner: Scope = { ...scope, windows_refused: 'inside another one' };
  const window = windowOf(scope, node);
  const { call, wrap, type, values } = callOf(inner, node, window);
  const partition = window.partition_by.map((one) => valueOf(inner, one));
  const order = window.order_by.map((item) => ({
    item,
    value: valueOf(inner, item.expression),
  }));
  const ordered = [
    ...order.map(({ item, value }) => `${value.sql}${printDirection(item)}`),
    ...tieBreakers(scope, node, window),
  ];
  const parts = [
    partition.length === 0 ? '' : `PARTITION BY ${partition.map(({ sql }) => sql).join(', ')}`,
    ordered.length === 0 ? '' : `ORDER BY ${ordered.join(', ')}`,
    window.frame === undefined || shifts.has(node.name.text) ? '' : printFrame(window.frame),
  ];
  const value = compose(
    wrap(`${call} OVER (${parts.filter((part) => part !== '').join(' ')})`),
    type,
    node,
    [...values, ...partition, ...order.map((one) => one.value)],
  );
  return { ...value, traits: { ...value.traits, windows: true } };
}

/** Prints ASC or DESC with the position of NULLs, in ClickHouse's notation. */
export function printDirection({ descending, nulls }: OrderItem): string {
  return `${descending ? ' DESC' : ''}${nulls === undefined ? '' : ` NULLS ${nulls}`}`;
}

function windowOf(scope: Scope, node: ExpressionOf<'call'>): Window {
  const { window } = node;
  if (window === undefined) throw new Fault('Write OVER (...) here.', node);
  if (window.name === undefined) return window;
  const named = scope.windows.get(window.name.text);
  if (named === undefined)
    throw new Fault(
      `There is no window \`${window.name.text}\`: define it with WINDOW ${window.name.text} ` +
        'AS (...).',
      window.name,
    );
  return named;
}

function callOf(scope: Scope, node: ExpressionOf<'call'>, window: Window): AggregateCall {
  const aggregate = findAggregate(node.name.text);
  if (aggregate !== undefined && node.nulls !== undefined) throw refuseNulls(node);
  if (aggregate !== undefined) return aggregateCall(scope, node, aggregate);
  const known = findFunction(node.name.text);
  if (known === undefined) throw unknownFunction(node);
  const { definition } = known;
  if (known.use !== 'window')
    throw new Fault(`\`${definition.name}\` is no window function: remove OVER.`, node.name);
  if (node.distinct || node.filter !== undefined || node.parameters !== undefined)
    throw new Fault(
      `\`${definition.name}\` has no DISTINCT, FILTER or second pair of brackets.`,
      node,
    );
  if (window.order_by.length === 0)
    throw new Fault(
      `\`${definition.name}\` needs an ORDER BY in its window, or its result would not be fixed.`,
      node,
    );
  const { name, engine = name } = definition;
  if (node.nulls === 'IGNORE' && !respecting.test(engine)) throw refuseNulls(node);
  const { texts, values, type } = bind(
    scope,
    known,
    node.args.map((arg) => ({ node: arg })),
    node,
  );
  // Without a row there, ClickHouse returns an empty value unless NULL is possible.
  const given =
    type.nullable && texts[0] !== undefined
      ? [`toNullable(${texts[0]})`, ...texts.slice(1)]
      : texts;
  return {
    call: `${node.nulls === 'IGNORE' ? name : engine}(${given.join(', ')})`,
    wrap: (sql) => (definition.exact ? sql : canonicalText(sql, type.kind)),
    type,
    values,
  };
}

/** Returns the fault for IGNORE NULLS or RESPECT NULLS where it has no meaning. */
export function refuseNulls(node: ExpressionOf<'call'>): Fault {
  return new Fault(
    'IGNORE NULLS goes between first_value(x) or last_value(x) and OVER; aggregates leave NULL ' +
      'out without it.',
    node,
  );
}

/**
 * Returns tie-breakers for rows that ORDER BY leaves equal, if the result depends on their order.
 */
function tieBreakers(scope: Scope, node: ExpressionOf<'call'>, window: Window): string[] {
  const isAggregate = findAggregate(node.name.text) !== undefined;
  const depends = isAggregate ? window.frame?.unit === 'ROWS' : !ranks.has(node.name.text);
  if (!depends || scope.is_one_row) return [];
  return scope.keys.size > 0
    ? [...scope.keys]
    : scope.sources.flatMap((source) => source.identity());
}
