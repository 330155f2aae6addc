import { align } from '../values/coerce.ts';
import { Fault } from '../fault.ts';
import { resolveCore } from './core.ts';
import type { Levels } from './resolve.ts';
import type { Select, SelectUnion } from '../parse/tree.ts';
import { plain_traits, sql_length_max } from '../values/value.ts';
import { describeType } from '../values/value_type.ts';
import type { Context, ResolvedColumn, ResolvedSelect, SelectUse } from './scope.ts';
import { counted } from '../../../platform/counted.ts';

/** Most nested SELECTs, with entries of WITH expanded. */
const selects_max = 20;

/**
 * Returns a SELECT with its UNIONs as ClickHouse text in brackets. Its rows belong to the one
 * project, whatever the query says. Throws a `Fault` for a SELECT without a meaning.
 */
export function resolveSelect(
  context: Context,
  levels: Levels,
  node: Select,
  use: SelectUse,
): ResolvedSelect {
  if (levels.selects >= selects_max)
    throw new Fault(
      `More than ${selects_max} SELECTs stand inside each other, entries of WITH written out: ` +
        'take the query apart.',
      node,
    );
  const { expressions } = levels;
  levels.selects += 1;
  levels.expressions = 0;
  try {
    const resolved =
      node.kind === 'core' ? resolveCore(context, node, use) : resolveUnion(context, node, use);
    if (resolved.text.length > sql_length_max)
      throw new Fault(
        'The query grows too large when its aliases and WITH entries are written out: use ' +
          'them less often.',
        node,
      );
    return resolved;
  } finally {
    levels.expressions = expressions;
    levels.selects -= 1;
  }
}

/**
 * Resolves the arms of a union: their columns match by position, each converted to the type that
 * can hold all arms.
 */
function resolveUnion(context: Context, node: SelectUnion, use: SelectUse): ResolvedSelect {
  const arms = node.arms.map((arm) => context.select(arm, { ...use, is_outermost: false }));
  const [first] = arms;
  if (first === undefined) throw new Fault('A UNION needs arms.', node);
  for (const [index, arm] of arms.entries())
    if (arm.columns.length !== first.columns.length)
      throw new Fault(
        `This SELECT gives ${counted(arm.columns.length, 'column')}, the first of the UNION ` +
          `${first.columns.length}.`,
        node.arms[index]!,
      );
  const names = first.columns.map(() => context.writer.name('c'));
  const aligned = first.columns.map((column, index) =>
    alignColumn(
      context,
      node,
      column,
      arms.map((arm) => arm.columns[index]!),
    ),
  );
  const texts = arms.map((arm, number) => {
    const list = names
      .map((name, index) => `${aligned[index]!.texts[number]!} AS ${name}`)
      .join(', ');
    return `SELECT ${list} FROM ${arm.text} AS ${context.writer.name('t')}`;
  });
  const columns = first.columns.map((column, index) => ({
    ...column,
    sql: names[index]!,
    type: aligned[index]!.type,
  }));
  return {
    text: `(${texts.join(node.distinct ? ' UNION DISTINCT ' : ' UNION ALL ')})`,
    columns,
    order: [],
    is_row_wise: false,
  };
}

function alignColumn(
  context: Context,
  node: SelectUnion,
  first: ResolvedColumn,
  columns: ResolvedColumn[],
) {
  const values = columns.map(({ sql, type }) => ({ sql, type, span: node, traits: plain_traits }));
  const aligned = align(context.writer, values);
  if (aligned === undefined)
    throw new Fault(
      `The column \`${first.name}\` is ` +
        `${[...new Set(columns.map(({ type }) => describeType(type)))].join(' and ')} in the ` +
        'arms of the UNION: convert them to one type.',
      node,
    );
  return { texts: aligned.values.map(({ sql }) => sql), type: aligned.type };
}
