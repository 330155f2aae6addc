import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { StoredConfig } from '../../../engine/model/destination/stored_config.ts';
import type { RecordPlace } from '../../../platform/http/caller/access.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { locking } from '../../../platform/postgres/locking.ts';
import { managedBy } from '../../managed/store.ts';
import { named_exports_max } from './schema.ts';
import type { Connection } from './schema.ts';

// Each column is named, so no sealed value can slip in.
const columns = sql`c.id, c.name, c.destination_type AS type, c.destination_config AS config,
  c.secret_keys, c.created_at, c.last_updated_at,
  (SELECT count(*) FROM batch_exports e WHERE e.connection_id = c.id AND e.deleted_at IS NULL)
    AS batch_export_count,
  coalesce((SELECT jsonb_agg(to_jsonb(used)) FROM (
    SELECT e.id, e.team_id, e.name FROM batch_exports e
    WHERE e.connection_id = c.id AND e.deleted_at IS NULL
    ORDER BY e.name, e.id LIMIT ${named_exports_max}) used), '[]') AS batch_exports,
  ${managedBy('connection', sql`c.id`)} AS managed_by`;

/** Selects the connections of an organization, newest first (ties by id). */
export function listConnections(organization_id: string): List {
  return listOf(
    columns,
    sql`connections c WHERE c.organization_id = ${organization_id}::uuid`,
    sql`c.created_at DESC, c.id DESC`,
  );
}

/** Selects the connection in its wire form. */
export function selectConnection({ organization_id, id }: RecordPlace): Sql {
  return sql`SELECT ${columns} FROM connections c
    WHERE c.id = ${id} AND c.organization_id = ${organization_id}`;
}

/** Returns the connection in its wire form. */
export function findConnection(
  db: Queryable,
  organization_id: string,
  id: string,
): Promise<Connection | undefined> {
  return db.row<Connection>(sql`SELECT ${columns} FROM connections c
    WHERE c.id = ${id}::uuid AND c.organization_id = ${organization_id}::uuid`);
}

export type StoredConnection = StoredConfig & {
  id: string;
  name: string;
  destination_type: string;
  last_updated_at: string;
};

const stored = sql`c.id, c.name, c.destination_type, c.destination_config, c.destination_secrets,
  c.last_updated_at`;

/**
 * Returns the connection with its sealed config; with `lock`, it cannot change until the
 * transaction ends.
 */
export function findStoredConnection(
  db: Queryable,
  organization_id: string,
  id: string,
  lock?: 'lock',
): Promise<StoredConnection | undefined> {
  return db.row<StoredConnection>(sql`SELECT ${stored} FROM connections c
    WHERE c.id = ${id}::uuid AND c.organization_id = ${organization_id}::uuid
    ${locking(lock, 'FOR SHARE')}`);
}

/**
 * Locks and returns the connection with its sealed config for a change of its own: meanwhile,
 * nobody can change or choose it.
 */
export function lockConnection(
  tx: Transaction,
  organization_id: string,
  id: string,
): Promise<StoredConnection | undefined> {
  return tx.row<StoredConnection>(sql`SELECT ${stored} FROM connections c
    WHERE c.id = ${id}::uuid AND c.organization_id = ${organization_id}::uuid FOR UPDATE`);
}

/** Lists all connections of an organization with their sealed configs, oldest first. */
export function listStoredConnections(
  db: Queryable,
  organization_id: string,
): Promise<StoredConnection[]> {
  return db.rows<StoredConnection>(sql`SELECT ${stored} FROM connections c
    WHERE c.organization_id = ${organization_id}::uuid ORDER BY c.created_at, c.id`);
}

export type ConnectionFields = StoredConfig & Pick<Connection, 'name' | 'secret_keys'>;

/** Adds a connection. */
export async function insertConnection(
  tx: Transaction,
  row: ConnectionFields & { id: string; organization_id: string; destination_type: string },
): Promise<void> {
  await tx.run(sql`
    INSERT INTO connections (id, organization_id, name, destination_type, destination_config,
      destination_secrets, secret_keys)
    VALUES (${row.id}, ${row.organization_id}, ${row.name}, ${row.destination_type},
      ${JSON.stringify(row.destination_config)}::jsonb, ${row.destination_secrets},
      ${row.secret_keys})`);
}

/** Stores a change. The caller holds the lock. */
export async function updateConnection(
  tx: Transaction,
  id: string,
  row: ConnectionFields,
): Promise<void> {
  await tx.run(sql`
    UPDATE connections SET name = ${row.name},
      destination_config = ${JSON.stringify(row.destination_config)}::jsonb,
      destination_secrets = ${row.destination_secrets}, secret_keys = ${row.secret_keys},
      last_updated_at = now()
    WHERE id = ${id}::uuid`);
}

/** Removes a connection that no export uses. */
export async function deleteConnection(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM connections WHERE id = ${id}::uuid`);
}

/** Lists the exports that use a connection, in the order in which they are locked. */
export async function listUsingExports(tx: Transaction, id: string): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`SELECT e.id FROM batch_exports e
    WHERE e.connection_id = ${id}::uuid AND e.deleted_at IS NULL ORDER BY e.id`);
  return rows.map((row) => row.id);
}
