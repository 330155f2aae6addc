import sql from 'sql-template-tag';
import { listKindCounts } from '../../engine/ingest/catalogue/store.ts';
import { misfitsOf, otherTypes, propose, valuesOf } from '../../engine/ingest/catalogue/propose.ts';
import type { KindCounts } from '../../engine/ingest/catalogue/propose.ts';
import { project_properties_max } from '../../engine/ingest/catalogue/within_bounds.ts';
import type { PropertyType } from '../../engine/model/schema/property_type.ts';
import { listSchema, planColumns, schema_columns_max } from '../../engine/model/schema/store.ts';
import type { PropertySource, Schema } from '../../engine/model/schema/store.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { managedBy } from '../managed/store.ts';
import type { ManagedRow } from '../managed/schema.ts';
import type { SchemaColumn, SchemaProposal } from './schema.ts';

/** Properties that change persons and groups, which make no useful columns. */
const not_proposed = new Set(['$set', '$set_once', '$unset', '$group_set']);

/**
 * Lists the columns of a project's schema with the counts of their values, and the number of the
 * schema.
 */
export async function listColumns(
  db: Queryable,
  team_id: number,
): Promise<{ schema_number: number; columns: SchemaColumn[] }> {
  const { schema_number, columns } = await listSchema(db, team_id);
  const counted = await countsOf(db, team_id);
  const managed = await managersOf(db, team_id);
  return {
    schema_number,
    columns: columns.map(({ created_by: _by, ...one }) => {
      const id = idOf(team_id, one);
      const kinds = one.source === 'event' ? (counted.get(one.property) ?? {}) : undefined;
      return { id, ...one, ...countsFor(one.type, kinds), managed_by: managed.get(id) ?? null };
    }),
  };
}

/** Returns the column of a project's schema with this id. */
export async function findColumn(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<SchemaColumn | undefined> {
  return (await listColumns(db, team_id)).columns.find((one) => one.id === id);
}

/**
 * Returns the catalogue's proposals: a type for each property of events with enough values and
 * without a column, even a removed one. Properties of the most events come first, as many as a
 * schema can have.
 */
export async function listProposals(db: Queryable, team_id: number): Promise<SchemaProposal[]> {
  return proposals(await listSchema(db, team_id), await countsOf(db, team_id));
}

function proposals(schema: Schema, counted: Map<string, KindCounts>): SchemaProposal[] {
  const known = new Set(
    schema.columns.filter(({ source }) => source === 'event').map(({ property }) => property),
  );
  const wanted = [...counted].flatMap(([property, kinds]) => {
    const proposal = propose(kinds);
    const is_left_out = known.has(property) || not_proposed.has(property);
    if (proposal === undefined || is_left_out) return [];
    return { source: 'event' as const, property, type: proposal.type };
  });
  return planColumns(schema, wanted.slice(0, schema_columns_max)).map(
    ({ source, property, type, column = null, namesakes }) => ({
      source,
      property,
      type,
      column,
      ...countsFor(type, counted.get(property)),
      namesakes,
    }),
  );
}

function countsFor(type: PropertyType, kinds: KindCounts | undefined) {
  if (kinds === undefined) return { values: null, misfits: null, other_types: [] };
  return {
    values: valuesOf(kinds),
    misfits: misfitsOf(type, kinds),
    other_types: otherTypes(type, kinds),
  };
}

async function countsOf(db: Queryable, team_id: number): Promise<Map<string, KindCounts>> {
  const rows = await listKindCounts(db, team_id, project_properties_max);
  return new Map(rows.map(({ property, kinds }) => [property, kinds]));
}

/** SQL for the id of a column, which is unique in all projects. */
export function idOf(
  team_id: number,
  { source, column }: { source: PropertySource; column: string },
): string {
  return `${team_id}.${source}.${column}`;
}

const id_sql = sql`c.team_id || '.' || c.source || '.' || c."column"`;

async function managersOf(db: Queryable, team_id: number): Promise<Map<string, ManagedRow>> {
  const rows = await db.rows<{ id: string; managed_by: ManagedRow }>(sql`
    SELECT ${id_sql} AS id, ${managedBy('schema_column', id_sql)} AS managed_by
    FROM schema_columns c WHERE c.team_id = ${team_id}`);
  return new Map(rows.map(({ id, managed_by }) => [id, managed_by]));
}

/** An active column of any project of an organization. */
export type FilledColumn = {
  id: string;
  team_id: number;
  source: PropertySource;
  property: string;
  type: PropertyType;
};

/** Lists the active columns of all projects of an organization, in the order of their creation. */
export function listFilledColumns(db: Queryable, organization_id: string): Promise<FilledColumn[]> {
  return db.rows(sql`
    SELECT ${id_sql} AS id, c.team_id, c.source, c.property, c.type
    FROM schema_columns c JOIN projects p ON p.id = c.team_id
    WHERE p.organization_id = ${organization_id}::uuid AND c.filled @> p.schema_number
    ORDER BY c.team_id, c.source, c.position`);
}
