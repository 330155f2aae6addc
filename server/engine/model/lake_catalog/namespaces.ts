import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isDatabaseError } from '../../../platform/postgres/database.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { LakeRefused, badRequest } from './refusal.ts';

/** A namespace of a project's tables. */
export type Namespace = {
  id: string;
  levels: string[];
  properties: Record<string, string>;
  /** The URI below which its tables lie, without a trailing slash. */
  location: string;
  /**
   * The export whose destination config has the credentials for that place; null: the export
   * folder.
   */
  batch_export_id: string | null;
};

/** The place of a new namespace. */
export type NewNamespace = Omit<Namespace, 'id'> & { team_id: number };

const columns = sql`id, levels, properties, location, batch_export_id`;
const level_length_max = 255;
const levels_max = 16;
const fitting = /^[^\p{Cc}/]+$/u;

/** Returns the name unchanged; throws 400 if it cannot name a folder. */
export function checkedName(name: unknown, noun: string): string {
  const fits =
    typeof name === 'string' &&
    name.length <= level_length_max &&
    fitting.test(name) &&
    !['.', '..'].includes(name) &&
    name.isWellFormed();
  if (!fits)
    throw badRequest(
      `${noun} has 1 to ${level_length_max} characters, and no slash or control character.`,
    );
  return name;
}

/** Returns the levels unchanged; throws 400 if they name no namespace. */
export function checkedLevels(levels: unknown): string[] {
  if (!Array.isArray(levels) || levels.length === 0 || levels.length > levels_max)
    throw badRequest(`A namespace is a list of 1 to ${levels_max} names.`);
  return levels.map((level) => checkedName(level, 'A level of a namespace'));
}

/** Finds a namespace of the project; undefined if it does not exist. */
export function findNamespace(
  db: Queryable,
  team_id: number,
  levels: readonly string[],
): Promise<Namespace | undefined> {
  return db.row<Namespace>(sql`SELECT ${columns} FROM lake_namespaces
    WHERE team_id = ${team_id} AND levels = ${levels}::text[]`);
}

/**
 * Like `findNamespace`, with a lock until the transaction ends; throws 404 if it does not exist.
 */
export async function holdNamespace(
  tx: Transaction,
  team_id: number,
  levels: readonly string[],
): Promise<Namespace> {
  const found = await tx.row<Namespace>(sql`SELECT ${columns} FROM lake_namespaces
    WHERE team_id = ${team_id} AND levels = ${levels}::text[] FOR NO KEY UPDATE`);
  if (found === undefined) throw noNamespace(levels);
  return found;
}

/** Returns a 404: the project has no such namespace. */
export function noNamespace(levels: readonly string[]): LakeRefused {
  return new LakeRefused(
    'NoSuchNamespaceException',
    `Namespace does not exist: ${levels.join('.')}`,
  );
}

/** Creates the namespace. Throws 409 if it exists, 404 if its parent does not. */
export async function createNamespace(tx: Transaction, fields: NewNamespace): Promise<Namespace> {
  const { team_id, levels, properties, location, batch_export_id } = fields;
  const above = levels.slice(0, -1);
  // FOR SHARE: nobody can drop the parent meanwhile.
  if (above.length > 0) {
    const parent = await tx.row(sql`SELECT 1 FROM lake_namespaces
      WHERE team_id = ${team_id} AND levels = ${above}::text[] FOR SHARE`);
    if (parent === undefined) throw noNamespace(above);
  }
  const created = await tx
    .row<Namespace>(
      sql`INSERT INTO lake_namespaces (id, team_id, levels, properties, location, batch_export_id)
        VALUES (${uuidv7()}, ${team_id}, ${levels}::text[], ${JSON.stringify(properties)}::jsonb,
          ${location}, ${batch_export_id}::uuid) RETURNING ${columns}`,
    )
    .catch((error: unknown) => {
      if (isDatabaseError(error) && error.constraint === 'lake_namespaces_levels_unique')
        throw new LakeRefused(
          'AlreadyExistsException',
          `Namespace already exists: ${levels.join('.')}`,
        );
      throw error;
    });
  return created!;
}

/** Removes a locked namespace. Throws 409 while it contains a table or a namespace. */
export async function dropNamespace(
  tx: Transaction,
  team_id: number,
  { id, levels }: Namespace,
): Promise<void> {
  const inside = await tx.row(sql`
    SELECT 1 FROM lake_tables WHERE namespace_id = ${id}::uuid
    UNION ALL SELECT 1 FROM lake_namespaces WHERE team_id = ${team_id}
      AND cardinality(levels) > ${levels.length}::integer
      AND levels[1:${levels.length}::integer] = ${levels}::text[] LIMIT 1`);
  if (inside !== undefined)
    throw new LakeRefused(
      'NamespaceNotEmptyException',
      `The namespace ${levels.join('.')} is not empty: drop what is in it first.`,
    );
  await tx.run(sql`DELETE FROM lake_namespaces WHERE id = ${id}::uuid`);
}

/** Sets the properties of a locked namespace. */
export async function setNamespaceProperties(
  tx: Transaction,
  { id }: Namespace,
  properties: Record<string, string>,
): Promise<void> {
  await tx.run(sql`UPDATE lake_namespaces SET properties = ${JSON.stringify(properties)}::jsonb
    WHERE id = ${id}::uuid`);
}

/** A page of a list: names after `after`, at most `size`; null: no bound. */
export type Page = { after: string | null; size: number | null };

/** Lists the namespaces directly below `parent`, by name. */
export function listNamespaces(
  db: Queryable,
  team_id: number,
  parent: readonly string[],
  { after, size }: Page,
): Promise<{ levels: string[] }[]> {
  const depth = parent.length + 1;
  return db.rows(sql`SELECT levels FROM lake_namespaces
    WHERE team_id = ${team_id} AND cardinality(levels) = ${depth}::integer
      AND levels[1:${parent.length}::integer] = ${parent}::text[]
      AND (${after}::text IS NULL OR levels[${depth}::integer] > ${after})
    ORDER BY levels[${depth}::integer] LIMIT ${size}::bigint`);
}
