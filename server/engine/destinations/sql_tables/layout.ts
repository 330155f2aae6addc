import type { Delivery } from '../../model/destination/destination.ts';
import type { MergeKeys } from '../../model/destination/write_mode.ts';

/** The parts of a delivery that decide the form of its table. */
export type Layout = Pick<Delivery, 'model' | 'columns' | 'merge'>;

/**
 * The columns that identify a row of each model permanently, and by which merged rows are merged.
 */
const keys: Readonly<Record<Layout['model'], readonly [...string[], string]>> = {
  events: ['uuid'],
  persons: ['team_id', 'distinct_id'],
  person_distinct_ids: ['team_id', 'distinct_id'],
  sessions: ['team_id', 'session_id'],
  groups: ['team_id', 'group_id'],
};

/** Returns the columns by which rows of the layout's model are merged. */
export function mergeKey({ model }: Pick<Layout, 'model'>): readonly string[] {
  return keys[model];
}

/**
 * Returns the column that compares rows with the source, if the export has it and no query computed
 * it.
 */
export function keyColumn({ model, columns }: Layout): string | undefined {
  const name = keys[model].at(-1)!;
  return hasOwn(columns, name) ? name : undefined;
}

/**
 * Returns true if the rows contain the model's event time and insertion time, and never change.
 * Both together assign each row to one slice of one delivery.
 */
export function hasInstants(layout: Layout): boolean {
  const { model, columns } = layout;
  return (
    model === 'events' &&
    !isMerged(layout) &&
    ['timestamp', 'inserted_at'].every((name) => hasOwn(columns, name))
  );
}

/** Returns the columns that identify rows; empty if none do. */
export function keyColumns(layout: Layout): readonly string[] {
  const name = keyColumn(layout);
  return layout.merge?.key ?? (name === undefined ? [] : [name]);
}

/** Returns the column by which erased rows leave the table. */
export function erasedColumn(layout: Layout & { erased?: { column?: string } }): string {
  return layout.erased?.column ?? keyColumn(layout)!;
}

/**
 * Returns the column with the owner of the rows, if they are merged by it: the table then
 * distinguishes all of its values, and has an index.
 */
export function personColumn(layout: Layout): string | undefined {
  const { model, columns, merge } = layout;
  const isKey = model === 'events' && merge?.key.includes('distinct_id') === true;
  return isKey && saysWhose(columns) ? 'distinct_id' : undefined;
}

/** Returns true if the rows have the distinct id of a person. */
export function saysWhose(columns: Layout['columns']): boolean {
  return (
    hasOwn(columns, 'distinct_id') || columns.some(({ is_distinct_id }) => is_distinct_id === true)
  );
}

/** Returns true if the rows have this column, and no query computed another one under its name. */
export function hasOwn(columns: Layout['columns'], name: string): boolean {
  return columns.some((column) => column.name === name && column.is_calculated !== true);
}

/** Returns the columns by which the rows are merged, or undefined if they are appended. */
export function mergeOf({ model, columns, merge }: Layout): MergeKeys | undefined {
  if (merge !== undefined) return merge ?? undefined;
  const key = mergeKey({ model });
  if (model === 'events' || !key.every((name) => hasOwn(columns, name))) return undefined;
  return { key, versions: versionColumns({ columns }) };
}

/** Returns true if rows of this delivery are merged into the existing ones. */
export function isMerged(layout: Layout): boolean {
  return mergeOf(layout) !== undefined;
}

/** Returns true if the key of merged rows contains their project. */
export function isMergedByTeam(layout: Layout): boolean {
  return mergeOf(layout)?.key.includes('team_id') === true && hasOwn(layout.columns, 'team_id');
}

const version_names = [
  'person_version',
  'person_distinct_id_version',
  'version',
  'session_version',
  'group_version',
];

/**
 * Returns the columns that order two rows of a key, if the export has them and no query computed
 * them.
 */
export function versionColumns({ columns }: Pick<Layout, 'columns'>): string[] {
  return version_names.filter((version) => hasOwn(columns, version));
}

/** Returns a name as an identifier of standard SQL; case is kept if the server keeps it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the column names as a list of standard SQL. */
export function columnList(columns: readonly { name: string }[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ');
}
