import { every_event, filterCondition } from '../model/models/event_filter.ts';
import type { EventFilter } from '../model/models/event_filter.ts';
import type { Rectangle } from '../model/ledger/rectangles.ts';
import type { Column } from '../model/models/column.ts';
import type { Model } from '../model/models/model.ts';
import { models } from '../model/models/index.ts';
import type { Context, ResolvedSelect } from './resolve/scope.ts';
import { Fault } from './fault.ts';
import { finalExpression, outputColumns } from './resolve/output.ts';
import { parse } from './parse/parse.ts';
import { queryError } from './query_error.ts';
import { resolve } from './resolve/resolve.ts';
import type { Levels } from './resolve/resolve.ts';
import { resolveSelect } from './resolve/select.ts';
import type { Select } from './parse/tree.ts';
import type { ValueType } from './values/value_type.ts';
import { QueryWriter } from './values/writer.ts';
import type { QueryParameters } from './values/writer.ts';

/** A query that was read and resolved for one model. It depends on no project, run or time. */
export type ResolvedQuery = {
  model: Model['name'];
  text: string;
  tree: Select;
  /** True if dates, arrays and maps are columns of their own types instead of text and JSON. */
  has_native_types: boolean;
  /** The columns of the export; each `expression` refers to the relation of `queryRelation`. */
  columns: Column[];
  /**
   * The `schema` of the API: ClickHouse text and name of each output column; `values` are the
   * contents of the placeholders in the texts.
   */
  fields: { expression: string; alias: string }[];
  values: QueryParameters;
  /**
   * True if each result row comes from one row of the model's table: a run can then be cut into
   * slices by insertion time.
   */
  is_row_wise: boolean;
};

/**
 * The rows of one run: its project, its selection, its event names (absent: every event), and the
 * end of its data interval (milliseconds), which `now()` returns.
 */
export type QueryRun = {
  team_id: number;
  selection: Rectangle[];
  event_filter?: EventFilter;
  data_interval_end: number;
};

/**
 * A subquery in brackets with the columns of `ResolvedQuery.columns`, and a total order of its
 * rows: `ORDER BY <order>` always gives the same order. A row-wise query also has `inserted_at` and
 * the model's key, under these names, so that it can replace `Model.relation`.
 */
export type QueryRelation = {
  text: string;
  parameters: QueryParameters;
  order: string;
  /**
   * The same rows before their columns are converted for the export, with the inferred types: for
   * `checkByEngine`.
   */
  typed: { text: string; types: ValueType[] };
  /** The placeholders of regular expressions, which only ClickHouse can check. */
  patterns: QueryWriter['patterns'];
};

/** Returns the tree of a query. Throws a `QueryError` for invalid text. */
export function parseQuery(text: string): Select {
  return named(text, () => parse(text).select);
}

/**
 * Reads a query for exports of `model` and determines its columns. Throws a `QueryError` that names
 * the needed changes.
 */
export function resolveQuery(text: string, options: { model: Model['name'] }): ResolvedQuery {
  return named(text, () => {
    const { select: tree, has_native_types } = parse(text);
    const { select, writer } = compile(tree, options.model, {
      team_id: 0,
      selection: [],
      data_interval_end: 0,
    });
    const columns = outputColumns(select.columns, has_native_types);
    const fields = select.columns.map(({ expression, name }) => ({ expression, alias: name }));
    const values = writer.parametersOf(fields.map(({ expression }) => expression).join(' '));
    return {
      model: options.model,
      text,
      tree,
      has_native_types,
      columns,
      fields,
      values,
      is_row_wise: select.is_row_wise,
    };
  });
}

/**
 * Returns the query over the rows of one run. Guarantee: every table in it is `Model.relation` of
 * the run's project. A table of the export's model, or the first one in FROM, has the rows of the
 * selection. Other tables (joined, or in a subquery of an expression) have every row inserted
 * before the selection ends. No table contains an event that the filter excludes.
 */
export function queryRelation(query: ResolvedQuery, run: QueryRun): QueryRelation {
  const { select, writer } = compile(query.tree, query.model, run);
  const outputs = select.columns.map(({ sql, type }, index) => {
    const value = finalExpression(sql, type, query.has_native_types);
    return `${value} AS ${query.columns[index]!.expression}`;
  });
  const rowKeys = ['inserted_at', models[query.model].key];
  const orderKeys = select.order.map(({ sql }, index) => `${sql} AS order_${index + 1}`);
  const text = `(SELECT ${[...outputs, ...(select.is_row_wise ? rowKeys : orderKeys)].join(', ')}
    FROM ${select.text})`;
  const keys = select.order.map(({ direction }, index) => `order_${index + 1}${direction}`);
  const order = select.is_row_wise
    ? models[query.model].order
    : [...keys, ...query.columns.map(orderKey)].join(', ');
  const typed = `(SELECT ${select.columns.map(({ sql }) => sql).join(', ')} FROM ${select.text})`;
  const filtered = filterCondition(run.event_filter ?? every_event).parameters;
  const parameters = {
    ...writer.parametersOf(text),
    ...filtered,
    team_id: run.team_id,
    data_interval_end: instant(run.data_interval_end),
  };
  return {
    text,
    parameters,
    order,
    typed: { text: typed, types: select.columns.map(({ type }) => type) },
    patterns: writer.patterns,
  };
}

/** Maps have no order of their own. */
function orderKey({ expression, nested }: Column): string {
  return nested === undefined ? expression : `toJSONString(${expression})`;
}

function compile(
  tree: Select,
  model: Model['name'],
  run: QueryRun,
): { select: ResolvedSelect; writer: QueryWriter } {
  const levels: Levels = { expressions: 0, selects: 0, written: 0 };
  const end = Math.max(...run.selection.map((side) => side.inserted_to));
  const lookup =
    run.selection.length === 0
      ? []
      : [{ event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity, inserted_to: end }];
  const lookUps = new Map<Select, ResolvedSelect>();
  const context: Context = {
    writer: new QueryWriter(),
    model,
    rows: {
      team_id: run.team_id,
      selection: run.selection,
      lookup,
      event_filter: run.event_filter ?? every_event,
    },
    faults: [],
    tables: new Set(),
    searches: new Set(),
    resolve: (scope, node) => resolve(levels, scope, node),
    lookUp: (node, withs) => {
      const known =
        lookUps.get(node) ?? context.select(node, { withs, is_lookup: true, is_outermost: false });
      lookUps.set(node, known);
      return known;
    },
    select: (node, use) => resolveSelect(context, levels, node, use),
  };
  try {
    const select = context.select(tree, { withs: new Map(), is_lookup: false, is_outermost: true });
    if (context.faults.length > 0) throw new Faults(context.faults);
    if (context.tables.size === 0)
      throw new Fault('The query reads no table: add FROM events or FROM persons.', tree);
    return { select, writer: context.writer };
  } catch (error) {
    throw error instanceof Fault ? new Faults([...context.faults, error]) : error;
  }
}

/** Faults of several clauses; a fault that an alias repeats is listed once. */
class Faults extends Error {
  readonly faults: Fault[];

  constructor(faults: Fault[]) {
    super('The query has faults.');
    const first = new Map(faults.map((fault) => [`${fault.span.start} ${fault.message}`, fault]));
    this.faults = [...first.values()];
  }
}

function named<Result>(text: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof Fault) throw queryError(text, [error]);
    if (error instanceof Faults) throw queryError(text, error.faults);
    throw error;
  }
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', '');
}
