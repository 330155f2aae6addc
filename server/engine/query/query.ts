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

/** A query that was read and understood for one model. It depends on no project, run or time. */
export type ResolvedQuery = {
  model: Model['name'];
  text: string;
  tree: Select;
  /** Are dates, arrays and maps columns of their own types, not text and JSON? */
  has_native_types: boolean;
  /** The columns of the export; `expression` is over what `queryRelation` gives. */
  columns: Column[];
  /**
   * The `schema` of the API: ClickHouse text of each output column, and its name; `values` are the
   * contents of the placeholders in them.
   */
  fields: { expression: string; alias: string }[];
  values: QueryParameters;
  /**
   * One row for each row of the model's table at most, each by itself: a run can be cut into slices
   * by insertion time.
   */
  is_row_wise: boolean;
};

/**
 * The rows of one run: its project, its selection, the names of its events (left out: every event)
 * and the end of its data interval (milliseconds), which is what `now()` gives.
 */
export type QueryRun = {
  team_id: number;
  selection: Rectangle[];
  event_filter?: EventFilter;
  data_interval_end: number;
};

/**
 * A subquery in brackets with the columns that `ResolvedQuery.columns` name in their `expression`s,
 * and the order of its rows: `ORDER BY <order>` gives one order that is the same every time. A
 * row-wise query has `inserted_at` and the model's key as well, under these names, so that it can
 * replace `Model.relation`.
 */
export type QueryRelation = {
  text: string;
  parameters: QueryParameters;
  order: string;
  /**
   * The same rows before their columns are made those of an export, with the types that were
   * inferred: for `checkByEngine`.
   */
  typed: { text: string; types: ValueType[] };
  /** The placeholders of regular expressions, which only ClickHouse can check. */
  patterns: QueryWriter['patterns'];
};

/** The tree of a query. Throws a `QueryError` for text that is not of the language. */
export function parseQuery(text: string): Select {
  return named(text, () => parse(text).select);
}

/**
 * Reads a query for exports of `model` and says what its columns are. Throws a `QueryError` that
 * names what has to be changed.
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
 * The query over the rows of one run. Guarantee: every table in it is `Model.relation` of the run's
 * project: within the selection where the table is the export's model or stands first in FROM, else
 * (joined, or in a subquery of an expression) everything that was inserted before the selection
 * ends. No table gives an event that the filter leaves out.
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

/** Faults of several clauses; one that an alias repeats is told once. */
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
