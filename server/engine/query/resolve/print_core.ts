import { models } from '../../model/models/index.ts';
import type { OpenFrom } from './from.ts';
import { printDirection } from './window.ts';
import type { SelectCore } from '../parse/tree.ts';
import type { Item, Order, Clauses } from './clauses.ts';
import type {
  Context,
  OrderKey,
  ResolvedColumn,
  ResolvedSelect,
  Scope,
  SelectUse,
} from './scope.ts';

/** Returns a resolved SELECT as ClickHouse text, with its columns and the keys of its order. */
export function print(
  context: Context,
  core: SelectCore,
  use: SelectUse,
  from: OpenFrom | undefined,
  scope: Scope,
  items: Item[],
  clauses: Clauses,
): ResolvedSelect {
  const columns = items.map(({ name, value }): ResolvedColumn => ({
    name,
    sql: context.writer.name('c'),
    type: value.type,
    zone: value.zone,
    expression: value.sql,
    span: value.span,
  }));
  const list = columns.map(({ expression, sql }) => `${expression} AS ${sql}`);
  const isRowWise = use.is_outermost && isPerRow(core, items, clauses, from);
  const order = use.is_outermost ? exposeOrder(clauses.order, columns, list) : [];
  if (isRowWise)
    for (const [alias, column] of rowColumns(scope)) list.push(`${column} AS ${alias}`);
  const isCut =
    core.limit !== undefined || core.offset !== undefined || core.limit_by !== undefined;
  // A LIMIT selects fixed rows only if no two rows are equal in order, so every column is a final
  // sort key.
  const cut = isCut
    ? [
        ...clauses.order.map(({ item, value }) => `${value.sql}${printDirection(item)}`),
        ...columns.map(({ sql, type }) => (type.kind === 'map' ? `toString(${sql})` : sql)),
      ]
    : [];
  const clause = (keyword: string, text: string | undefined) =>
    text === undefined || text === '' ? '' : ` ${keyword} ${text}`;
  const text = [
    `(SELECT ${core.distinct ? 'DISTINCT ' : ''}${list.join(', ')}`,
    clause('FROM', from?.text()),
    clause('WHERE', clauses.where?.sql),
    clause('GROUP BY', clauses.keys.map(({ sql }) => sql).join(', ')),
    clause('HAVING', clauses.having?.sql),
    clause('QUALIFY', clauses.qualify?.sql),
    clause('ORDER BY', cut.join(', ')),
    core.limit_by === undefined
      ? ''
      : ` LIMIT ${core.limit_by.offset}, ${core.limit_by.count} BY ` +
        clauses.limit_by.map(({ sql }) => sql).join(', '),
    clause('LIMIT', core.limit?.toString()),
    clause('OFFSET', core.offset?.toString()),
    ')',
  ];
  return { text: text.join(''), columns, order, is_row_wise: isRowWise };
}

/** Adds the keys of ORDER BY to the result: an existing output column, or a further one. */
function exposeOrder(order: Order[], columns: ResolvedColumn[], list: string[]): OrderKey[] {
  return order.map(({ item, value, output }, index) => {
    // A further column would make rows differ that DISTINCT merges, so an output column stands for
    // itself.
    if (output === undefined) list.push(`${value.sql} AS order_${index + 1}`);
    return {
      sql: output === undefined ? `order_${index + 1}` : columns[output]!.sql,
      direction: printDirection(item),
    };
  });
}

function isPerRow(
  core: SelectCore,
  items: Item[],
  clauses: Clauses,
  from: OpenFrom | undefined,
): boolean {
  const isPlain =
    !core.distinct &&
    core.order_by.length === 0 &&
    core.limit === undefined &&
    core.offset === undefined &&
    core.limit_by === undefined;
  const values = [
    ...items.map(({ value }) => value),
    ...(clauses.where === undefined ? [] : [clauses.where]),
  ];
  const isOfRows = values.every(
    ({ traits }) => !traits.aggregates && !traits.windows && !traits.multiplies,
  );
  return (
    from?.is_model_table === true &&
    isPlain &&
    isOfRows &&
    clauses.keys.length === 0 &&
    !core.group_by_all &&
    core.having === undefined &&
    core.qualify === undefined
  );
}

/** Returns the columns that cut and order the rows of the model's own table. */
function rowColumns(scope: Scope): [string, string][] {
  const [source] = scope.sources;
  const [insertedAt, key] = source?.identity() ?? [];
  return insertedAt === undefined || key === undefined
    ? []
    : [
        ['inserted_at', insertedAt],
        [source?.model === undefined ? 'uuid' : models[source.model].key, key],
      ];
}
