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

/** The source of FROM. A column becomes part of the text when it is asked for. */
export type Source = {
  /** By which its columns can be qualified; undefined for a subquery without an alias. */
  name: string | undefined;
  span: Span;
  model: Model['name'] | undefined;
  /** In the order in which `*` has them. */
  listed: string[];
  columns: Iterable<string>;
  column(name: string): SourceColumn | undefined;
  /** Text at a path of one of the model's own JSON columns; undefined for another column. */
  property(column: string, path: string[]): SourceColumn | undefined;
  /**
   * ClickHouse text of columns that no two rows have alike, or of all columns where nothing is
   * known.
   */
  identity(): string[];
  /** ClickHouse text for FROM. */
  text(): string;
};

/**
 * The rows that the tables of a query give: the run's own for its model, and those of a look-up; of
 * events, in both, only those that pass the filter.
 */
export type Rows = {
  team_id: number;
  selection: Rectangle[];
  lookup: Rectangle[];
  event_filter: EventFilter;
};

/** Every column of a model by the name that queries use. */
function modelColumns(model: Model['name']): string[] {
  return [...new Set([...models[model].columns.files.map((column) => column.name), 'team_id'])];
}

/** The tables of the language with their columns, for whoever helps to write queries. */
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
 * A model's table as a query may read it: a subquery over `Model.relation`, which is the one place
 * that says which rows of which project. Guarantee: `team_id` is the project's own number as a
 * parameter, whatever the query calls by that name.
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
 * A subquery's columns under its alias; `columns` are its printed names and types by the names that
 * the query knows.
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

/** The source with NULL possible in every column, as the outer side of a join makes it. */
export function outerSource(source: Source): Source {
  const loosen = (column: SourceColumn | undefined) =>
    column && { ...column, type: orNull(column.type) };
  return {
    ...source,
    column: (name) => loosen(source.column(name)),
    property: (column, path) => loosen(source.property(column, path)),
  };
}
