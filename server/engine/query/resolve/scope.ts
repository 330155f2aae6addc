import type { Model } from '../../model/models/model.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import type { Rows, Source } from './source.ts';
import { elsewhereNamed } from './elsewhere.ts';
import { suggest } from '../../../platform/suggest.ts';
import type { Expression, Name, Select, Window, With } from '../parse/tree.ts';
import type { Value } from '../values/value.ts';
import type { ValueType } from '../values/value_type.ts';
import type { QueryWriter } from '../values/writer.ts';

/** An entry of WITH and what it can see itself. */
export type WithEntry = { entry: With; before: WithEntries };

/** The entries of WITH that can be seen, the innermost last. */
export type WithEntries = ReadonlyMap<string, WithEntry>;

/**
 * A column of a resolved SELECT: its name in the query, its name in the printed text, the text of
 * its expression, and where it stands in the query.
 */
export type ResolvedColumn = {
  name: string;
  sql: string;
  type: ValueType;
  zone?: string | undefined;
  expression: string;
  span: Span;
};

/** A key of the outermost ORDER BY: the printed column that holds it, and its direction. */
export type OrderKey = { sql: string; direction: string };

/** A SELECT in brackets as ClickHouse text, and its columns. */
export type ResolvedSelect = {
  text: string;
  columns: ResolvedColumn[];
  order: OrderKey[];
  is_row_wise: boolean;
};

/** The use of a SELECT: `outermost` keeps the order of its rows as further columns. */
export type SelectUse = { withs: WithEntries; is_lookup: boolean; is_outermost: boolean };

/** One compilation: what is being printed, for which rows, and the rules that need each other. */
export type Context = {
  writer: QueryWriter;
  model: Model['name'];
  rows: Rows;
  /** Faults in clauses that did not keep others from being read. */
  faults: Fault[];
  /** The tables that were opened. */
  tables: Set<Model['name']>;
  /** The printed calls with a regular expression. */
  searches: Set<string>;
  resolve(scope: Scope, node: Expression): Value;
  /** A subquery of an expression, resolved once however often the expression is. */
  lookUp(node: Select, withs: WithEntries): ResolvedSelect;
  select(node: Select, use: SelectUse): ResolvedSelect;
};

/** The preferred meaning of a name that is both a column and an alias: SQL's clauses differ. */
export type Preference = 'column' | 'alias';

/** The meaning of names inside one SELECT. */
export type Scope = {
  /** The compilation that it is of. */
  context: Context;
  withs: WithEntries;
  sources: Source[];
  aliases: Map<string, Expression>;
  windows: Map<string, Window>;
  /** Columns that USING has made one of two. */
  merged: Map<string, Value>;
  prefers: Preference;
  /** ClickHouse text of the keys of GROUP BY once they are known. */
  keys: Set<string>;
  /** Parameters of the lambdas around, the innermost last. */
  lambdas: Map<string, Value>[];
  /** Aliases that are resolved already. */
  alias_values: Map<string, Value>;
  /** Is there a single row behind the aggregates, because they stand without GROUP BY? */
  is_one_row: boolean;
  /** Aliases that are being resolved: one that comes up again would never end. */
  open_aliases: Set<string>;
  /**
   * The words for an error if aggregates, or window functions, are not allowed here, as in "in
   * WHERE".
   */
  aggregates_refused?: string;
  windows_refused?: string;
};

/** The value of an expression. Throws a `Fault` where it has none. */
export function valueOf(scope: Scope, node: Expression): Value {
  return scope.context.resolve(scope, node);
}

/** A scope with nothing but WITH's entries. */
export function openScope(context: Context, withs: WithEntries): Scope {
  return {
    context,
    withs,
    sources: [],
    aliases: new Map(),
    windows: new Map(),
    merged: new Map(),
    prefers: 'column',
    keys: new Set(),
    lambdas: [],
    alias_values: new Map(),
    is_one_row: false,
    open_aliases: new Set(),
  };
}

/** The source of this name, or undefined. */
export function findSource(scope: Scope, name: string): Source | undefined {
  return scope.sources.find((source) => source.name === name);
}

/** The one source that has the column, or undefined. Throws a `Fault` when several have. */
export function findOwner(scope: Scope, name: Name): Source | undefined {
  const owners = scope.sources.filter((source) => source.column(name.text) !== undefined);
  if (owners.length > 1)
    throw new Fault(
      `Several tables have a column \`${name.text}\`: write the table before it, as in ` +
        `${owners[0]!.name ?? 'alias'}.${name.text}.`,
      name,
    );
  return owners[0];
}

/** The fault for a name that means nothing here, with the nearest name that does. */
export function unknownName(scope: Scope, { text, ...span }: Name): Fault {
  const candidates = [
    ...scope.sources.flatMap((source) => [
      ...source.columns,
      ...(source.name === undefined ? [] : [source.name]),
    ]),
    ...scope.aliases.keys(),
    ...scope.lambdas.flatMap((parameters) => [...parameters.keys()]),
  ];
  const hasEvents = scope.sources.some(({ model }) => model === 'events');
  if (text === 'person' && hasEvents)
    return new Fault(
      'An event has `person.properties` and `person_id` of its person. Join `persons` for more.',
      span,
    );
  const suggestion = suggest(text, candidates);
  const isQuoted = span.end - span.start > text.length;
  const quoted = isQuoted ? ' Put text in single quotes; these are for names.' : '';
  const advice =
    scope.sources.length === 0
      ? 'There is no FROM that could have it.'
      : (elsewhereNamed(text) ?? 'A SELECT sees the columns of its own FROM.');
  return new Fault(`There is no column \`${text}\` here. ${advice}${quoted}`, span, suggestion);
}

/** The fault for an aggregate where none can stand. */
export function refuseAggregate(where: string, span: Span): Fault {
  return new Fault(
    `An aggregate is not allowed ${where}: compute it in a subquery, or filter with HAVING.`,
    span,
  );
}

/** The fault for a window function where none can stand. */
export function refuseWindow(where: string, span: Span): Fault {
  return new Fault(
    `A window function is not allowed ${where}: compute it in a subquery, or filter with QUALIFY.`,
    span,
  );
}
