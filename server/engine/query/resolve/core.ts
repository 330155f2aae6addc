import { Fault, FinalFault } from '../fault.ts';
import { condition } from './choose.ts';
import { nameColumn } from './output_name.ts';
import type { Span } from '../query_error.ts';
import { openFrom } from './from.ts';
import { columnValue } from './name.ts';
import type { Expression, ExpressionOf, SelectCore, With } from '../parse/tree.ts';
import type { Value } from '../values/value.ts';
import { nullValue } from '../values/value.ts';
import type { Item, Order, Clauses } from './clauses.ts';
import { print } from './print_core.ts';
import { suggest } from '../../../platform/suggest.ts';
import { findSource, openScope, valueOf } from './scope.ts';
import type { Context, ResolvedSelect, Scope, SelectUse, WithEntries } from './scope.ts';
import { counted } from '../../../platform/counted.ts';

/** Most faults that one answer lists. */
const faults_max = 20;
/** Most columns of one SELECT, with `*` expanded. */
const columns_max = 1_000;

/** Returns one SELECT without its UNIONs as ClickHouse text in brackets. */
export function resolveCore(context: Context, core: SelectCore, use: SelectUse): ResolvedSelect {
  const scope = openScope(context, extend(use.withs, core.with));
  const from = openFrom(scope, core, use);
  defineNames(scope, core);
  const where =
    core.where &&
    attempt(context, core.where, () => condition(before(scope, 'in WHERE'), core.where!));
  let items = resolveItems(scope, core);
  const keys = resolveKeys(scope, core, items);
  const isOneRow =
    keys.length === 0 &&
    items.some(({ value }) => value.traits.aggregates) &&
    items.some(({ value }) => value.traits.windows);
  if (keys.length > 0 || isOneRow) {
    // Only now the key and the source of the aggregates are known.
    scope.is_one_row = isOneRow;
    scope.keys = new Set(keys.map(({ sql }) => sql));
    scope.alias_values.clear();
    items = resolveItems(scope, core);
  }
  const clauses = { where, keys, ...resolveRest(scope, core, items) };
  if (context.faults.length === 0) checkGrouping(core, items, clauses);
  return print(context, core, use, from, scope, items, clauses);
}

function extend(withs: WithEntries, entries: With[]): WithEntries {
  const extended = new Map(withs);
  const own = new Set<string>();
  for (const entry of entries) {
    if (own.has(entry.name.text))
      throw new Fault(
        `WITH has two entries named \`${entry.name.text}\`: rename one of them.`,
        entry.name,
      );
    own.add(entry.name.text);
    extended.set(entry.name.text, { entry, before: new Map(extended) });
  }
  return extended;
}

function defineNames(scope: Scope, core: SelectCore): void {
  for (const { expression, alias } of core.items) {
    if (alias === undefined) continue;
    if (scope.aliases.has(alias.text))
      throw new Fault(
        `Two columns are named \`${alias.text}\`: give one of them another alias.`,
        alias,
      );
    scope.aliases.set(alias.text, expression);
  }
  for (const { name, window } of core.windows) scope.windows.set(name.text, window);
}

const before = (scope: Scope, where: string): Scope => ({
  ...scope,
  aggregates_refused: where,
  windows_refused: where,
});
const behind = (scope: Scope): Scope => ({ ...scope, prefers: 'alias' });

/** Records a fault and continues with NULL, so that one answer lists the faults of every clause. */
function attempt(context: Context, span: Span, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (
      !(error instanceof Fault) ||
      error instanceof FinalFault ||
      context.faults.length >= faults_max
    )
      throw error;
    context.faults.push(error);
    return nullValue(span);
  }
}

function resolveItems(scope: Scope, core: SelectCore): Item[] {
  const items: Item[] = [];
  for (const { expression, alias } of core.items) {
    if (expression.kind === 'star') items.push(...expandStar(scope, expression));
    else
      items.push({
        name: alias?.text ?? nameColumn(expression),
        value: attempt(scope.context, expression, () => valueOf(scope, expression)),
      });
    if (items.length > columns_max)
      throw new Fault(`A SELECT has at most ${columns_max} columns: take fewer.`, expression);
  }
  return items;
}

function expandStar(scope: Scope, node: ExpressionOf<'star'>): Item[] {
  const source = node.table === undefined ? undefined : findSource(scope, node.table.text);
  if (node.table !== undefined && source === undefined)
    throw new Fault(`There is no table \`${node.table.text}\` in FROM.`, node.table);
  const sources = source === undefined ? scope.sources : [source];
  if (sources.length === 0) throw new Fault('* needs a FROM.', node);
  const except = node.except ?? [];
  const listed = sources.flatMap((one) => one.listed);
  const unknown = except.find(({ text }) => !listed.includes(text));
  if (unknown !== undefined)
    throw new Fault(
      `* has no column \`${unknown.text}\` that could be left out.`,
      unknown,
      suggest(unknown.text, listed),
    );
  const isTaken = (name: string) => except.every(({ text }) => text !== name);
  return sources.flatMap((one) =>
    one.listed.filter(isTaken).map((name) => ({
      name,
      value: columnValue(one, { text: name, start: node.start, end: node.end }),
    })),
  );
}

/** Returns the number of an output column if a clause refers to it by position. */
function positionOf(node: Expression, items: Item[]): number | undefined {
  if (node.kind !== 'number' || !/^\d+$/.test(node.digits)) return undefined;
  const position = Number(node.digits);
  if (position < 1 || position > items.length)
    throw new Fault(
      `There is no such column: the SELECT gives ${counted(items.length, 'column')}, counted ` +
        `from 1.`,
      node,
    );
  return position - 1;
}

function resolveKeys(scope: Scope, core: SelectCore, items: Item[]): Value[] {
  if (core.group_by_all)
    return items.flatMap(({ value }) =>
      value.traits.aggregates || value.traits.windows ? [] : [value],
    );
  return core.group_by.map((node) =>
    attempt(scope.context, node, () => {
      const position = positionOf(node, items);
      const value =
        position === undefined
          ? valueOf(before(behind(scope), 'in GROUP BY'), node)
          : items[position]!.value;
      if (value.traits.aggregates || value.traits.windows)
        throw new Fault(
          'An aggregate cannot be a key of GROUP BY: group in a subquery first.',
          node,
        );
      // A value with an earlier fault is NULL as well.
      const isNull = value.type.kind === 'null' && scope.context.faults.length === 0;
      if (isNull || value.literal !== undefined)
        throw new Fault('A key of GROUP BY is an expression over columns.', node);
      return value;
    }),
  );
}

function resolveRest(
  scope: Scope,
  core: SelectCore,
  items: Item[],
): Omit<Clauses, 'where' | 'keys'> {
  const last = behind(scope);
  const order = core.order_by.map((item): Order => {
    let output = -1;
    const value = attempt(scope.context, item.expression, () => {
      const position = positionOf(item.expression, items);
      const key = position === undefined ? valueOf(last, item.expression) : items[position]!.value;
      output = items.findIndex((one) => one.value.sql === key.sql);
      if (core.distinct && output < 0)
        throw new Fault(
          'With DISTINCT, ORDER BY takes only columns of the SELECT list.',
          item.expression,
        );
      return key;
    });
    return { item, value, output: output < 0 ? undefined : output };
  });
  return {
    having:
      core.having &&
      attempt(scope.context, core.having, () =>
        condition({ ...last, windows_refused: 'in HAVING' }, core.having!),
      ),
    qualify:
      core.qualify && attempt(scope.context, core.qualify, () => condition(last, core.qualify!)),
    order,
    limit_by:
      core.limit_by?.by.map((node) => attempt(scope.context, node, () => valueOf(last, node))) ??
      [],
  };
}

/** After GROUP BY or beside an aggregate, a column must be inside an aggregate or in a key. */
function checkGrouping(core: SelectCore, items: Item[], clauses: Clauses): void {
  const rest = [
    clauses.having,
    clauses.qualify,
    ...clauses.order.map(({ value }) => value),
    ...clauses.limit_by,
  ].filter((value) => value !== undefined);
  const values = [...items.map(({ value }) => value), ...rest];
  const isGrouped =
    clauses.keys.length > 0 || core.group_by_all || values.some(({ traits }) => traits.aggregates);
  if (core.having !== undefined && !isGrouped)
    throw new Fault('HAVING needs GROUP BY or an aggregate: write WHERE.', core.having);
  if (core.qualify !== undefined && !values.some(({ traits }) => traits.windows))
    throw new Fault('QUALIFY needs a window function: write WHERE.', core.qualify);
  const loose = isGrouped
    ? values.find(({ traits }) => traits.loose !== undefined)?.traits.loose
    : undefined;
  if (loose !== undefined)
    throw new Fault(
      'This column is neither a key of GROUP BY nor inside an aggregate. Add it to GROUP BY, ' +
        'or use min, max or argMax.',
      loose,
    );
}
