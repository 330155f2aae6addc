import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import { typeOf } from './value_type.ts';
import type { ValueType } from './value_type.ts';

/** The content of a literal: a text, number or boolean of the query itself. */
export type LiteralContent = string | number | bigint | boolean;

/** The effects of an expression besides its value; an expression has the effects of its parts. */
export type Traits = {
  /** The first column outside of every aggregate and every key of GROUP BY. */
  loose: Span | undefined;
  aggregates: boolean;
  windows: boolean;
  /** True if it turns one row into several. */
  multiplies: boolean;
};

/** A resolved expression: ClickHouse text for a value of exactly this type. */
export type Value = {
  sql: string;
  type: ValueType;
  span: Span;
  traits: Traits;
  /** Set for a literal. */
  literal?: LiteralContent;
  /** Returns text at a path of this JSON document, if a table has it extracted. */
  property?: (path: string[]) => { sql: string; type: ValueType } | undefined;
  /**
   * ClickHouse text of the time zone that produced this timestamp, as in `toStartOfDay(x, zone)`.
   * Functions without a zone argument use it.
   */
  zone?: string;
};

/**
 * Most characters of the ClickHouse text of one expression or query: aliases and WITH can repeat
 * text of the query.
 */
export const sql_length_max = 400_000;

/** Traits of an expression without effects, such as a literal. */
export const plain_traits: Traits = {
  loose: undefined,
  aggregates: false,
  windows: false,
  multiplies: false,
};

/** Returns the traits of an expression with these parts. */
function mergeTraits(values: readonly { traits: Traits }[]): Traits {
  return {
    loose: values.find(({ traits }) => traits.loose !== undefined)?.traits.loose,
    aggregates: values.some(({ traits }) => traits.aggregates),
    windows: values.some(({ traits }) => traits.windows),
    multiplies: values.some(({ traits }) => traits.multiplies),
  };
}

/**
 * Returns a value composed of others; a timestamp has the zone of its first timestamp part. Throws
 * a `Fault` if its text becomes too long.
 */
export function compose(
  sql: string,
  type: ValueType,
  span: Span,
  parts: readonly (Pick<Value, 'traits'> & Partial<Value>)[],
): Value {
  if (sql.length > sql_length_max)
    throw new Fault(
      'The query grows too large when its aliases and WITH entries are written out: use them ' +
        'less often.',
      span,
    );
  const isTimestamp = (one: Partial<Value>) => one.type?.kind === 'timestamp';
  const zone = isTimestamp({ type }) ? parts.find(isTimestamp)?.zone : undefined;
  return { sql, type, span, traits: mergeTraits(parts), ...(zone === undefined ? {} : { zone }) };
}

/** Returns NULL. */
export function nullValue(span: Span): Value {
  return { sql: 'NULL', type: typeOf('null'), span, traits: plain_traits };
}
