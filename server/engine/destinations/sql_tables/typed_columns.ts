import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Dialect } from './dialect.ts';
import { columnsInWords } from './fitting.ts';
import type { FoundColumn } from './fitting.ts';
import { keyColumns } from './layout.ts';
import type { Layout } from './layout.ts';

type Column = Layout['columns'][number];

/** Returns the typed columns that a table lacks and no delivery has filled yet: they are added. */
export function newColumns({ columns }: Pick<Layout, 'columns'>, found: FoundColumn[]): Column[] {
  const names = new Set(found.map(({ name }) => name.toLowerCase()));
  return columns.filter(({ name, typed }) => typed === 'new' && !names.has(name.toLowerCase()));
}

/**
 * Adds the typed columns that the table lacks, and returns whether it lacked any. A table is never
 * altered otherwise. Throws `columns_missing` if the user may not add them.
 */
export async function addNewColumns(
  dialect: Dialect,
  layout: Pick<Layout, 'columns'>,
  found: FoundColumn[],
): Promise<boolean> {
  const lacking = newColumns(layout, found);
  if (lacking.length === 0) return false;
  const statements = addingStatements(dialect, lacking);
  try {
    for (const statement of statements) await dialect.typed.run(statement);
  } catch (error) {
    const known = dialect.explained(error);
    if (!(known instanceof NonRetryableError)) throw error;
    const named = lacking.map((column) => `${column.name} ${dialect.typed.typeOf(column)}`);
    // The rights that an error lists are those of a delivery, which may not suffice.
    const why =
      known.code === 'permission_denied' && error instanceof Error ? error.message : known.message;
    throw new NonRetryableError(
      'columns_missing',
      `The table ${dialect.target.name} lacks ${columnsInWords(named)}, and Sluice may not add ` +
        `${named.length === 1 ? 'it' : 'them'} (${why}). Run this as the owner of the table, ` +
        `then retry: ${statements.join('; ')};`,
      { cause: error },
    );
  }
  return true;
}

function addingStatements({ target, quoted, typed }: Dialect, columns: Column[]): string[] {
  const { knows_if_not_exists = false, one_by_one = false } = typed;
  const added = columns.map(
    (column) =>
      `ADD COLUMN ${knows_if_not_exists ? 'IF NOT EXISTS ' : ''}${quoted(column.name)} ` +
      typed.typeOf(column),
  );
  return (one_by_one ? added : [added.join(', ')]).map(
    (words) => `ALTER TABLE ${target.quoted} ${words}`,
  );
}

/**
 * Refuses a table with a typed column that has another type or is NOT NULL: values would be
 * changed, or refused in the middle of a delivery.
 */
export function requireTypedColumns(
  { target, typed }: Pick<Dialect, 'target' | 'typed'>,
  layout: Layout,
  found: FoundColumn[],
): void {
  const byName = new Map(found.map((column) => [column.name.toLowerCase(), column]));
  const keys = keyColumns(layout);
  const faults = layout.columns.flatMap((column) => {
    const there = byName.get(column.name.toLowerCase());
    if (column.typed === undefined || there === undefined || keys.includes(column.name)) return [];
    if (!typed.whole_types[column.type].test(there.type))
      return [`${column.name} is ${there.type} and must be ${typed.typeOf(column)}`];
    return there.takes_no_null === true ? [`${column.name} must take NULL`] : [];
  });
  if (faults.length === 0) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `The table ${target.name} cannot hold the typed columns whole: ${faults.join('; ')}. Change ` +
      'them back, or export to another table.',
  );
}
