import sql from 'sql-template-tag';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { OauthApplicationRow } from './schema.ts';

/**
 * Selects the fields of application `a` in answers. Each column is named, so no secret can slip in.
 */
const selectApplications = sql`
  SELECT a.id, a.tool, a.client_id, a.authorize_url, a.token_url, a.revoke_url, a.scopes,
    a.client_auth, a.uses_pkce, (SELECT count(*)::integer FROM plugin_oauth_connections n
      WHERE n.application_id = a.id AND n.application_version = a.version) AS connections,
    a.created_at, a.updated_at
  FROM oauth_applications a`;

/** Lists the applications of an organization, by tool. Uses the unique index. */
export function listApplications(organization_id: string): List {
  return {
    rows: (page) => sql`${selectApplications} WHERE a.organization_id = ${organization_id}::uuid
      ORDER BY a.tool LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM oauth_applications a
      WHERE a.organization_id = ${organization_id}::uuid`,
  };
}

/**
 * Returns the organization's application by its id or its tool; with `lock`, nobody else can change
 * it.
 */
export function findApplication(
  db: Queryable,
  organization_id: string,
  by: { id: string } | { tool: string },
  lock?: 'lock',
): Promise<OauthApplicationRow | undefined> {
  const wanted = 'id' in by ? sql`a.id = ${by.id}::uuid` : sql`a.tool = ${by.tool}`;
  return db.row<OauthApplicationRow>(sql`${selectApplications}
    WHERE a.organization_id = ${organization_id}::uuid AND ${wanted}
    ${locking(lock, 'FOR UPDATE OF a')}`);
}

/** The stored fields of an application. */
export type ApplicationFields = Partial<
  Pick<
    OauthApplicationRow,
    | 'client_id'
    | 'authorize_url'
    | 'token_url'
    | 'revoke_url'
    | 'scopes'
    | 'client_auth'
    | 'uses_pkce'
  >
> & { client_secret_sealed?: Buffer };

/** Adds an application; returns false if the organization has one for the tool. */
export async function insertApplication(
  tx: Transaction,
  { id, organization_id, tool }: { id: string; organization_id: string; tool: string },
  fields: Required<ApplicationFields>,
): Promise<boolean> {
  const { client_id, authorize_url, token_url, revoke_url, scopes, client_auth } = fields;
  const added = await tx.run(sql`
    INSERT INTO oauth_applications (id, organization_id, tool, client_id, client_secret_sealed,
      authorize_url, token_url, revoke_url, scopes, client_auth, uses_pkce)
    VALUES (${id}::uuid, ${organization_id}::uuid, ${tool}, ${client_id},
      ${fields.client_secret_sealed}, ${authorize_url}, ${token_url}, ${revoke_url}, ${scopes},
      ${client_auth}, ${fields.uses_pkce})
    ON CONFLICT (organization_id, tool) DO NOTHING`);
  return added > 0;
}

/**
 * Applies the given fields. `is_other`: the client or vendor has changed, so older tokens are not
 * used. The stored refusal of the old secret is cleared. The caller holds the lock.
 */
export async function updateApplication(
  tx: Transaction,
  id: string,
  fields: ApplicationFields,
  is_other: boolean,
): Promise<void> {
  if (Object.keys(fields).length === 0) return;
  await tx.run(sql`UPDATE oauth_applications SET ${assignments(fields)},
    version = version + ${is_other ? 1 : 0}, updated_at = now() WHERE id = ${id}::uuid`);
  await tx.run(sql`UPDATE plugin_oauth_connections SET refused_reason = NULL, refused_at = NULL,
    updated_at = now() WHERE application_id = ${id}::uuid AND refused_reason IS NOT NULL`);
  // Configs that wait for the application check it again.
  await tx.run(sql`UPDATE plugin_configs c SET updated_at = now()
    FROM plugin_oauth_connections n
    WHERE n.application_id = ${id}::uuid AND c.id = n.plugin_config_id`);
}

/** Deletes an application without connected configs. */
export async function deleteApplication(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM oauth_applications WHERE id = ${id}::uuid`);
}

/** Counts configs with tokens of an application, including its former clients. */
export async function countConnections(tx: Transaction, id: string): Promise<number> {
  const row = await tx.row<{ count: number }>(sql`SELECT count(*)::integer AS count
    FROM plugin_oauth_connections WHERE application_id = ${id}::uuid`);
  return row!.count;
}
