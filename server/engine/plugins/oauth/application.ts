import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

/** The client that an organization has registered with the vendor of a tool. */
export type OauthApplication = {
  id: string;
  client_id: string;
  client_secret: string;
  authorize_url: string;
  token_url: string;
  revoke_url: string | null;
  scopes: string;
  client_auth: 'post' | 'basic';
  uses_pkce: boolean;
  version: number;
};

/** Returns the context that seals the client secret of an application. */
export function applicationContext(id: string): string {
  return `oauth_applications:${id}:client_secret_sealed`;
}

/** Finds the application that a config uses for the tool, from its organization. */
export async function findApplication(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  config_id: number,
  tool: string,
): Promise<OauthApplication | undefined> {
  const row = await db.row<
    Omit<OauthApplication, 'client_secret'> & { client_secret_sealed: Buffer }
  >(sql`
    SELECT a.id, a.client_id, a.client_secret_sealed, a.authorize_url, a.token_url, a.revoke_url,
      a.scopes, a.client_auth, a.uses_pkce, a.version
    FROM plugin_configs c JOIN projects t ON t.id = c.team_id
      JOIN oauth_applications a ON a.organization_id = t.organization_id AND a.tool = ${tool}
    WHERE c.id = ${config_id}`);
  if (row === undefined) return undefined;
  const { client_secret_sealed, ...application } = row;
  const client_secret = secrets.open(client_secret_sealed, applicationContext(row.id));
  return { ...application, client_secret };
}
