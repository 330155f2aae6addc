/**
 * The content of a column, independent of any store: destinations map it to their own type. `json`
 * is valid JSON text; `timestamp` is UTC with microseconds; `date` is a day of the years 1900 to
 * 2299; `decimal` has 38 digits, nine of them after the point, which every database holds exactly.
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

/** The items of a list, or the values of a map whose keys are text. */
export type Nested = { kind: 'list' | 'map'; of: NestedItem };
/** The content of a list or map: a value, or a list or map again. */
export type NestedItem = { type: ColumnType; nullable: boolean; nested?: Nested };

/**
 * One column of an export. `expression` is ClickHouse SQL over the model's or the query's relation
 * and gives the type named, or NULL where `nullable`.
 */
export type Column = {
  name: string;
  type: ColumnType;
  nullable: boolean;
  expression: string;
  /**
   * A `json` column whose expression gives an array or a map of the store: Parquet and Avro write
   * it as such, all else as JSON.
   */
  nested?: Nested;
  /**
   * True where a query has made the value: then the name says nothing about what it is, not even
   * where it is that of the model's key.
   */
  is_calculated?: boolean;
  /** True where such a value is a distinct id as it is stored, as in a query that groups by it. */
  is_distinct_id?: boolean;
  /**
   * There for a column of a project's schema, which a table must hold whole. A `new` one is added
   * to a table that lacks it; no delivery has filled it yet.
   */
  typed?: 'new' | 'known';
};

/** The default columns of a destination: those of files or those of database tables. */
export type ColumnSet = 'files' | 'tables';

/**
 * A row as texts: the value of each column, in the order of the columns, as ClickHouse writes it to
 * text, without escapes. None is null.
 */
export type TextRow = { columns: Column[]; values: string[] };

/** A column that the relation has under its own name and in its own type, never NULL. */
export function ownColumn(name: string, type: ColumnType): Column {
  return { name, type, nullable: false, expression: name };
}
