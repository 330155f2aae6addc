import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { columnName, namesakesOf } from './column_name.ts';
import type { PropertyType } from './property_type.ts';

/** The rows whose properties are meant: events, persons or groups. */
export const property_sources = ['event', 'person', 'group'] as const;

export type PropertySource = (typeof property_sources)[number];

/**
 * Most columns that a source ever has, including removed ones: PostgreSQL counts these too and ends
 * at 1,600, MySQL at 1,017.
 */
export const schema_columns_max = 500;

/** Most characters of a property's name in a schema. */
export const property_characters_max = 400;

/** A property with the type of its column. */
export type TypedProperty = { source: PropertySource; property: string; type: PropertyType };

/** A column of a schema. */
export type SchemaColumn = TypedProperty & {
  column: string;
  /**
   * False for a removed column: its name stays reserved, and its values go into the rest column.
   */
  is_filled: boolean;
  /** The schema number that first added it. */
  added_in: number;
  created_by: number | null;
  created_at: string;
};

/** A project's schema. Number 0 has no columns. */
export type Schema = { schema_number: number; columns: SchemaColumn[] };

/**
 * Returns the schema of a project with all columns that it ever had, in the order of their
 * addition: those of events, then of groups, then of persons.
 */
export async function listSchema(db: Queryable, team_id: number): Promise<Schema> {
  // One statement, so that the number matches the columns.
  const rows = await db.rows<SchemaColumn & { schema_number: number; column: string | null }>(sql`
    SELECT project.schema_number, c.source, c.property, c.type, c."column",
      c.filled @> project.schema_number AS is_filled, lower(c.filled) AS added_in,
      c.created_by, c.created_at
    FROM projects project LEFT JOIN schema_columns c ON c.team_id = project.id
    WHERE project.id = ${team_id} ORDER BY c.source, c.position`);
  const known = rows.filter(({ column }) => column !== null);
  return {
    schema_number: rows[0]?.schema_number ?? 0,
    columns: known.map(({ schema_number: _, ...column }) => column),
  };
}

/** A property with the column that a change would create. */
export type PlannedColumn = TypedProperty & {
  /** Its column; undefined if the source has the most columns. */
  column: string | undefined;
  /** True if the column exists and is already filled. Then nothing changes. */
  is_filled: boolean;
  /** Properties that only differ in spelling, such as userId and user_id. */
  namesakes: string[];
};

/**
 * Returns the columns that `wanted` would get in a schema, in the order of `wanted`. It changes
 * nothing, so a proposal can show names and namesakes before anybody accepts. A property with a
 * column of another type gets a second column. Each holds the values that fit its type.
 */
export function planColumns(schema: Schema, wanted: readonly TypedProperty[]): PlannedColumn[] {
  const known: (TypedProperty & { column: string; is_filled: boolean })[] = schema.columns.map(
    (one) => ({ ...one }),
  );
  return wanted.map(({ source, property, type }) => {
    const ofSource = known.filter((one) => one.source === source);
    const planned = { source, property, type, namesakes: namesakesOf(property, ofSource) };
    const own = ofSource.find((one) => one.property === property && one.type === type);
    if (own !== undefined) {
      const { column, is_filled } = own;
      own.is_filled = true;
      return { ...planned, column, is_filled };
    }
    if (ofSource.length >= schema_columns_max)
      return { ...planned, column: undefined, is_filled: false };
    const column = columnName(property, type, ofSource);
    known.push({ source, property, type, column, is_filled: true });
    return { ...planned, column, is_filled: false };
  });
}

/**
 * Adds columns for properties under the next schema number. Returns the result for each (like
 * `planColumns`) and the new number. Removed columns come back under their old names. Properties
 * beyond the column limit of their source are left out. A call that changes nothing keeps the
 * number. Locks the project's row, so that nobody else changes the schema meanwhile.
 */
export async function addColumns(
  tx: Transaction,
  team_id: number,
  wanted: readonly TypedProperty[],
  created_by: number | null,
): Promise<{ schema_number: number; columns: PlannedColumn[] }> {
  const schema = await lockSchema(tx, team_id);
  const columns = planColumns(schema, wanted);
  const added = columns.filter((one) => one.column !== undefined && !one.is_filled);
  if (added.length === 0) return { schema_number: schema.schema_number, columns };
  const schema_number = await nextNumber(tx, team_id);
  await tx.run(sql`
    INSERT INTO schema_columns (team_id, source, property, type, "column", position, filled,
      created_by)
    SELECT ${team_id}, source, property, type, "column",
      (SELECT count(*) FROM schema_columns known WHERE known.team_id = ${team_id}
        AND known.source = added.source) + row_number() OVER (PARTITION BY source ORDER BY number),
      int4multirange(int4range(${schema_number}, NULL)), ${created_by}
    FROM unnest(${added.map((one) => one.source)}::text[],
      ${added.map((one) => one.property)}::text[], ${added.map((one) => one.type)}::text[],
      ${added.map((one) => one.column)}::text[])
      WITH ORDINALITY AS added (source, property, type, "column", number)
    ON CONFLICT (team_id, source, "column") DO UPDATE
      SET filled = schema_columns.filled + int4multirange(int4range(${schema_number}, NULL))`);
  return { schema_number, columns };
}

/**
 * Stops filling columns under the next schema number, which it returns. The names stay reserved,
 * and the values go into the rest column. Columns that do not exist or are not filled change
 * nothing.
 */
export async function removeColumns(
  tx: Transaction,
  team_id: number,
  removed: readonly Pick<SchemaColumn, 'source' | 'column'>[],
): Promise<number> {
  const { schema_number, columns } = await lockSchema(tx, team_id);
  const isFilled = ({ source, column }: Pick<SchemaColumn, 'source' | 'column'>) =>
    columns.some((one) => one.source === source && one.column === column && one.is_filled);
  const ended = removed.filter(isFilled);
  if (ended.length === 0) return schema_number;
  const next = await nextNumber(tx, team_id);
  await tx.run(sql`
    UPDATE schema_columns known
    SET filled = known.filled * int4multirange(int4range(NULL, ${next}))
    FROM unnest(${ended.map((one) => one.source)}::text[],
      ${ended.map((one) => one.column)}::text[]) AS ended (source, "column")
    WHERE known.team_id = ${team_id} AND known.source = ended.source
      AND known."column" = ended."column"`);
  return next;
}

async function lockSchema(tx: Transaction, team_id: number): Promise<Schema> {
  await tx.run(sql`SELECT 1 FROM projects WHERE id = ${team_id} FOR NO KEY UPDATE`);
  return listSchema(tx, team_id);
}

async function nextNumber(tx: Transaction, team_id: number): Promise<number> {
  const row = await tx.row<{ schema_number: number }>(sql`
    UPDATE projects SET schema_number = schema_number + 1 WHERE id = ${team_id}
    RETURNING schema_number`);
  return row!.schema_number;
}
