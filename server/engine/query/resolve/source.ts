import type { EventFilter } from '../../model/models/event_filter.ts';
import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { models } from '../../model/models/index.ts';
import type { Model } from '../../model/models/model.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import { extractText, readableJson } from '../../model/models/readable_json.ts';
import { orNull } from '../values/value_type.ts';
import type { ValueType } from '../values/value_type.ts';
import type { QueryWriter } from '../values/writer.ts';

/** A column of a source: ClickHouse text, type, and the zone of its timestamps (`Value.zone`). */
export type SourceColumn = { sql: string; type: ValueType; zone?: string | undefined };

/** The source of FROM. A column becomes part of the text when it is first requested. */
export type Source = {
  /** The name that qualifies its columns; undefined for a subquery without an alias. */
  name: string | undefined;
  span: Span;
  model: Model['name'] | undefined;
  /** In the order of `*`. */
  listed: string[];
  columns: Iterable<string>;
  column(name: string): SourceColumn | undefined;
  /**
   * Returns text at a path of one of the model's own JSON columns; undefined for another column.
   */
  property(column: string, path: string[]): SourceColumn | undefined;
  /** Returns ClickHouse text of columns that identify a row, or of all columns if none do. */
  identity(): string[];
  /** Returns ClickHouse text for FROM. */
  text(): string;
};

/**
 * The rows of a query's tables: the run's own for its model, and those of a look-up; events must
 * pass the filter in both.
 */
export type Rows = {
  team_id: number;
  selection: Rectangle[];
  lookup: Rectangle[];
  event_filter: EventFilter;
};

/** Returns every column of a model by its name in queries. */
function modelColumns(model: Model['name']): string[] {
  return [...new Set([...models[model].columns.files.map((column) => column.name), 'team_id'])];
}

/** Returns the tables of the language with their columns, for editors of queries. */
export function queryTables(): { name: string; columns: { name: string; type: string }[] }[] {
  return Object.values(models).map(({ name, columns }) => ({
    name,
    columns: modelColumns(name).map((wanted) => ({
      name: wanted,
      type: columns.files.find((one) => one.name === wanted)?.type ?? 'integer',
    })),
  }));
}

/**
 * Opens a model's table as a query may read it: a subquery over `Model.relation`, which alone
 * determines the rows and the project. Guarantee: `team_id` is the project's own number as a
 * parameter, even if the query uses that name.
 */
export function openTable(
  writer: QueryWriter,
  name: string,
  span: Span,
  model: Model['name'],
  rows: Rows,
  isLookup: boolean,
): Source {
  const id = writer.name('t');
  const used = new Map<string, string>();
  const use = (column: string, expression: string): string => {
    used.set(`${id}_${column}`, expression);
    return `${id}_${column}`;
  };
  const listed = modelColumns(model);
  const column = (wanted: string): SourceColumn | undefined => {
    if (wanted === 'team_id')
      return {
        sql: use(wanted, '{team_id:Int64}'),
        type: { kind: 'integer', nullable: false, items: [] },
      };
    const known = models[model].columns.files.find((one) => one.name === wanted);
    return (
      known && {
        sql: use(wanted, known.expression),
        type: { kind: known.type, nullable: known.nullable, items: [] },
      }
    );
  };
  const paths = new Map<string, number>();
  return {
    name,
    span,
    model,
    listed: models[model].columns.files.map((one) => one.name),
    columns: listed,
    column,
    property(wanted, path) {
      const known = models[model].columns.files.find(
        (one) => one.name === wanted && one.type === 'json',
      );
      if (known === undefined) return undefined;
      const readable = use(`${wanted}_readable`, readableJson(wanted));
      const key = `${wanted}, ${path.join(', ')}`;
      if (!paths.has(key)) paths.set(key, paths.size + 1);
      return {
        sql: use(`${wanted}_${paths.get(key)}`, extractText(readable, path)),
        type: { kind: 'property', nullable: true, items: [] },
      };
    },
    identity: () => ['inserted_at', models[model].key].map((one) => column(one)!.sql),
    text() {
      if (used.size === 0) column(models[model].key);
      return printTable(id, used, model, rows, isLookup);
    },
  };
}

function printTable(
  id: string,
  used: ReadonlyMap<string, string>,
  model: Model['name'],
  rows: Rows,
  isLookup: boolean,
): string {
  const list = Array.from(used, ([alias, expression]) => `${expression} AS ${alias}`).join(', ');
  const { text } = models[model].relation(
    rows.team_id,
    isLookup ? rows.lookup : rows.selection,
    rows.event_filter,
  );
  return `(SELECT ${list} FROM
        ${text})
        AS ${id}`;
}

/**
 * Opens a subquery's columns under its alias; `columns` maps the query's names to printed names and
 * types.
 */
export function openDerived(
  writer: QueryWriter,
  name: string | undefined,
  span: Span,
  text: string,
  columns: (SourceColumn & { name: string })[],
): Source {
  const id = writer.name('t');
  const byName = new Map<string, SourceColumn>();
  for (const { name: column, sql, type, zone } of columns) {
    if (byName.has(column))
      throw new Fault(
        `This subquery has two columns named \`${column}\`: give one of them an alias.`,
        span,
      );
    byName.set(column, { sql, type, zone });
  }
  return {
    name,
    span,
    model: undefined,
    listed: [...byName.keys()],
    columns: byName.keys(),
    column: (wanted) => byName.get(wanted),
    property: () => undefined,
    identity: () => columns.map((column) => column.sql),
    text: () => `${text} AS ${id}`,
  };
}

/** Returns the source with NULL possible in every column, as on the outer side of a join. */
export function outerSource(source: Source): Source {
  const loosen = (column: SourceColumn | undefined) =>
    column && { ...column, type: orNull(column.type) };
  return {
    ...source,
    column: (name) => loosen(source.column(name)),
    property: (column, path) => loosen(source.property(column, path)),
  };
}
