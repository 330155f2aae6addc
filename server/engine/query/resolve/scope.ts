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

/** An entry of WITH and the entries that it can use. */
export type WithEntry = { entry: With; before: WithEntries };

/** The visible entries of WITH, the innermost last. */
export type WithEntries = ReadonlyMap<string, WithEntry>;

/**
 * A column of a resolved SELECT: its name in the query, its name in the printed text, the text of
 * its expression, and its place in the query.
 */
export type ResolvedColumn = {
  name: string;
  sql: string;
  type: ValueType;
  zone?: string | undefined;
  expression: string;
  span: Span;
};

/** A key of the outermost ORDER BY: its printed column and its direction. */
export type OrderKey = { sql: string; direction: string };

/** A SELECT in brackets as ClickHouse text, with its columns. */
export type ResolvedSelect = {
  text: string;
  columns: ResolvedColumn[];
  order: OrderKey[];
  is_row_wise: boolean;
};

/** The use of a SELECT: `outermost` adds columns that keep the order of its rows. */
export type SelectUse = { withs: WithEntries; is_lookup: boolean; is_outermost: boolean };

/** One compilation: its printer, its rows, and the rules that need each other. */
export type Context = {
  writer: QueryWriter;
  model: Model['name'];
  rows: Rows;
  /** Faults in clauses that did not stop the reading of others. */
  faults: Fault[];
  /** The opened tables. */
  tables: Set<Model['name']>;
  /** The printed calls with a regular expression. */
  searches: Set<string>;
  resolve(scope: Scope, node: Expression): Value;
  /** Resolves a subquery of an expression once, however often the expression is resolved. */
  lookUp(node: Select, withs: WithEntries): ResolvedSelect;
  select(node: Select, use: SelectUse): ResolvedSelect;
};

/** The preferred meaning of a name that is both a column and an alias: SQL's clauses differ. */
export type Preference = 'column' | 'alias';

/** The meaning of names inside one SELECT. */
export type Scope = {
  /** Its compilation. */
  context: Context;
  withs: WithEntries;
  sources: Source[];
  aliases: Map<string, Expression>;
  windows: Map<string, Window>;
  /** Columns that USING has merged. */
  merged: Map<string, Value>;
  prefers: Preference;
  /** ClickHouse text of the keys of GROUP BY once they are known. */
  keys: Set<string>;
  /** Parameters of the enclosing lambdas, the innermost last. */
  lambdas: Map<string, Value>[];
  /** Aliases that are already resolved. */
  alias_values: Map<string, Value>;
  /** True if the aggregates return a single row, because there is no GROUP BY. */
  is_one_row: boolean;
  /** Aliases that are being resolved: a repeated one would never end. */
  open_aliases: Set<string>;
  /**
   * The words for an error if aggregates, or window functions, are not allowed here, as in "in
   * WHERE".
   */
  aggregates_refused?: string;
  windows_refused?: string;
};

/** Returns the value of an expression. Throws a `Fault` if it has none. */
export function valueOf(scope: Scope, node: Expression): Value {
  return scope.context.resolve(scope, node);
}

/** Opens a scope with only the entries of WITH. */
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

/** Returns the source of this name, or undefined. */
export function findSource(scope: Scope, name: string): Source | undefined {
  return scope.sources.find((source) => source.name === name);
}

/**
 * Returns the one source that has the column, or undefined. Throws a `Fault` if several have it.
 */
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

/** Returns the fault for an unknown name, with the most similar known one. */
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

/** Returns the fault for an aggregate at a place that allows none. */
export function refuseAggregate(where: string, span: Span): Fault {
  return new Fault(
    `An aggregate is not allowed ${where}: compute it in a subquery, or filter with HAVING.`,
    span,
  );
}

/** Returns the fault for a window function at a place that allows none. */
export function refuseWindow(where: string, span: Span): Fault {
  return new Fault(
    `A window function is not allowed ${where}: compute it in a subquery, or filter with QUALIFY.`,
    span,
  );
}
