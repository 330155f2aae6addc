import type { Model } from '../../models/model.ts';
import type { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import type { Scope, WithEntries } from './scope.ts';
import type { Rows } from './source.ts';
import type { Expression, Select } from '../parse/tree.ts';
import type { Value } from '../values/value.ts';
import type { ValueType } from '../values/value_type.ts';
import type { QueryWriter } from '../values/writer.ts';

/**
 * A column of a resolved SELECT: its name in the query, its name in the printed text, the text of
 * its expression, and where it stands in the query.
 */
export type ResolvedColumn = {
  name: string;
  sql: string;
  type: ValueType;
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

/** How a SELECT is used: `outermost` keeps what orders its rows as further columns. */
export type SelectUse = { withs: WithEntries; is_lookup: boolean; is_outermost: boolean };

/** One compilation: what is being printed, for which rows, and the rules that need each other. */
export type Context = {
  writer: QueryWriter;
  model: Model['name'];
  rows: Rows;
  /** What was found wrong in clauses that did not keep others from being read. */
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
