/**
 * The content of a column, independent of any store: destinations map it to their own type. `json`
 * is valid JSON text. `timestamp` is UTC with microseconds. `date` is a day of the years 1900 to
 * 2299. `decimal` has 38 digits, nine after the point, which every database stores exactly.
 */
export type ColumnType =
  | 'uuid'
  | 'text'
  | 'json'
  | 'timestamp'
  | 'date'
  | 'decimal'
  | 'integer'
  | 'float'
  | 'boolean';

/** The items of a list, or the values of a map with text keys. */
export type Nested = { kind: 'list' | 'map'; of: NestedItem };
/** An item of a list or map: a value, or another list or map. */
export type NestedItem = { type: ColumnType; nullable: boolean; nested?: Nested };

/**
 * One column of an export. `expression` is ClickHouse SQL over the relation of the model or query.
 * It returns the named type, or NULL if `nullable`.
 */
export type Column = {
  name: string;
  type: ColumnType;
  nullable: boolean;
  expression: string;
  /**
   * A `json` column whose expression returns an array or a map of the store. Parquet and Avro keep
   * it as such; other formats write JSON.
   */
  nested?: Nested;
  /**
   * True if a query computed the value. The column's name then tells nothing about its content,
   * even if it equals the model's key.
   */
  is_calculated?: boolean;
  /** True if the computed value is a stored distinct id, as in a query that groups by it. */
  is_distinct_id?: boolean;
  /**
   * Set for a column of a project's schema, which a table must have completely. A `new` one is
   * added to a table that lacks it; no delivery has filled it yet.
   */
  typed?: 'new' | 'known';
};

/** The default columns of a destination: for files or for database tables. */
export type ColumnSet = 'files' | 'tables';

/**
 * A row as texts: the value of each column in order, as ClickHouse prints it, without escapes. No
 * value is null.
 */
export type TextRow = { columns: Column[]; values: string[] };

/** Returns a column that the relation has under its own name and type, never NULL. */
export function ownColumn(name: string, type: ColumnType): Column {
  return { name, type, nullable: false, expression: name };
}
