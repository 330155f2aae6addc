import sql from 'sql-template-tag';
import { listGroupTypes, listKindCounts } from '../../engine/ingest/catalogue/store.ts';
import { misfitsOf, otherTypes, propose, valuesOf } from '../../engine/ingest/catalogue/propose.ts';
import type { KindCounts } from '../../engine/ingest/catalogue/propose.ts';
import type { PropertyType } from '../../engine/model/schema/property_type.ts';
import { listSchema, planColumns, schema_columns_max } from '../../engine/model/schema/store.ts';
import type { PropertySource, Schema } from '../../engine/model/schema/store.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { managedBy } from '../managed/store.ts';
import type { ManagedRow } from '../managed/schema.ts';
import type { SchemaColumn, SchemaProposal } from './schema.ts';

/** Properties that change persons and groups, which make no useful columns. */
const not_proposed = new Set(['$set', '$set_once', '$unset', '$group_set']);

/** The values that came in, by property; properties of persons are not counted. */
type Counts = {
  event: Map<string, KindCounts>;
  group: Map<string, KindCounts>;
  group_types: Map<string, string[]>;
};

/**
 * Lists the columns of a project's schema with the counts of their values, and the number of the
 * schema.
 */
export async function listColumns(
  db: Queryable,
  team_id: number,
): Promise<{ schema_number: number; columns: SchemaColumn[] }> {
  const { schema_number, columns } = await listSchema(db, team_id);
  const counts = await countsOf(db, team_id);
  const managed = await managersOf(db, team_id);
  return {
    schema_number,
    columns: columns.map(({ created_by: _by, ...one }) => {
      const id = idOf(team_id, one);
      return { id, ...one, ...countsFor(one, counts), managed_by: managed.get(id) ?? null };
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
 * Returns the catalogue's proposals: a type for each property of events, then of groups, with
 * enough values and without a column, even a removed one. The most frequent properties come first,
 * as many as a schema can have.
 */
export async function listProposals(db: Queryable, team_id: number): Promise<SchemaProposal[]> {
  return proposals(await listSchema(db, team_id), await countsOf(db, team_id));
}

function proposals(schema: Schema, counts: Counts): SchemaProposal[] {
  const wanted = (['event', 'group'] as const).flatMap((source) => {
    const ofSource = schema.columns.filter((one) => one.source === source);
    const known = new Set(ofSource.map(({ property }) => property));
    return [...counts[source]]
      .flatMap(([property, kinds]) => {
        const proposal = propose(kinds);
        const is_left_out = known.has(property) || not_proposed.has(property);
        return proposal === undefined || is_left_out
          ? []
          : [{ source, property, type: proposal.type }];
      })
      .slice(0, schema_columns_max);
  });
  return planColumns(schema, wanted).map(({ is_filled: _is_filled, column = null, ...one }) => ({
    ...one,
    column,
    ...countsFor(one, counts),
  }));
}

function countsFor(
  { source, property, type }: { source: PropertySource; property: string; type: PropertyType },
  counts: Counts,
): Pick<SchemaColumn, 'values' | 'misfits' | 'other_types' | 'group_types'> {
  if (source === 'person') return { values: null, misfits: null, other_types: [], group_types: [] };
  const kinds = counts[source].get(property) ?? {};
  return {
    values: valuesOf(kinds),
    misfits: misfitsOf(type, kinds),
    other_types: otherTypes(type, kinds),
    group_types: source === 'group' ? (counts.group_types.get(property) ?? []) : [],
  };
}

async function countsOf(db: Queryable, team_id: number): Promise<Counts> {
  const kindsOf = async (source: 'event' | 'group') => {
    const rows = await listKindCounts(db, team_id, source);
    return new Map(rows.map(({ property, kinds }) => [property, kinds]));
  };
  return {
    event: await kindsOf('event'),
    group: await kindsOf('group'),
    group_types: await listGroupTypes(db, team_id),
  };
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
