import type { Delivery } from '../../model/destination/destination.ts';

/** The parts of a delivery that decide the form of its table. */
export type Layout = Pick<Delivery, 'model' | 'columns'>;

/** The columns that name a row of each model for good, and by which merged rows are merged. */
const keys: Readonly<Record<Layout['model'], readonly [...string[], string]>> = {
  events: ['uuid'],
  persons: ['team_id', 'distinct_id'],
  person_distinct_ids: ['team_id', 'distinct_id'],
  sessions: ['team_id', 'session_id'],
};

/** The columns by which rows of the layout's model are merged. */
export function mergeKey({ model }: Pick<Layout, 'model'>): readonly string[] {
  return keys[model];
}

/**
 * The column by which rows are compared with the source, where the export has it and no query has
 * made it.
 */
export function keyColumn({ model, columns }: Layout): string | undefined {
  const name = keys[model].at(-1)!;
  return hasOwn(columns, name) ? name : undefined;
}

/**
 * Do the rows say when they happened and when they were inserted, as the model has it? By both
 * together each row belongs to one slice of one delivery.
 */
export function hasInstants({ model, columns }: Layout): boolean {
  return model === 'events' && ['timestamp', 'inserted_at'].every((name) => hasOwn(columns, name));
}

/** Have the rows this column, and none that a query has made under its name? */
export function hasOwn(columns: Layout['columns'], name: string): boolean {
  return columns.some((column) => column.name === name && column.is_calculated !== true);
}

/** Are rows of this delivery merged into those that are there? */
export function isMerged({ model, columns }: Layout): boolean {
  return model !== 'events' && keys[model].every((name) => hasOwn(columns, name));
}

/**
 * The columns that say which of two rows of a key is newer, as far as the export has them and no
 * query has made them.
 */
export function versionColumns({ columns }: Pick<Layout, 'columns'>): string[] {
  return ['person_version', 'person_distinct_id_version', 'version', 'session_version'].filter(
    (version) => hasOwn(columns, version),
  );
}

/** SQL for a column of the new row, and of the existing row with its key. */
export type Rivals = { came(name: string): string; there(name: string): string };

/**
 * The condition under which a row that came takes the place of the one that is there: its versions
 * are higher, the first one that differs decides, and NULL is lower than any. Undefined where there
 * are no versions.
 */
export function newerCondition(versions: string[], { came, there }: Rivals): string | undefined {
  return versions.reduceRight<string | undefined>((later, name) => {
    const [one, other] = [came(name), there(name)];
    if (later === undefined) return `${other} IS NULL OR ${one} > ${other}`;
    const isHigher = `${one} > ${other} OR (${other} IS NULL AND ${one} IS NOT NULL)`;
    const isSame = `${one} = ${other} OR (${other} IS NULL AND ${one} IS NULL)`;
    return `${isHigher} OR ((${isSame}) AND (${later}))`;
  }, undefined);
}

/** A name as an identifier of standard SQL; letter case is kept where the server keeps it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The names of columns as a list of standard SQL. */
export function columnList(columns: readonly { name: string }[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ');
}
