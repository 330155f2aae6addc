/** What a column holds, independent of any store: destinations map it to their own type. `json` is valid JSON text; `timestamp` is UTC with microseconds. */
export type ColumnType = 'uuid' | 'text' | 'json' | 'timestamp' | 'integer' | 'float' | 'boolean';

/** One column of an export. `expression` is ClickHouse SQL over the model's relation and gives the type named, or NULL where `nullable`. */
export type Column = { name: string; type: ColumnType; nullable: boolean; expression: string };
