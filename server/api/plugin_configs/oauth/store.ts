import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { PluginOauth } from './schema.ts';

/** Returns the connection of a config in its wire form. */
export async function findShownConnection(
  db: Queryable,
  config_id: number,
): Promise<PluginOauth['connection']> {
  const row = await db.row<NonNullable<PluginOauth['connection']>>(sql`
    SELECT n.account, n.scopes, wire_instant(n.expires_at) AS expires_at, u.email AS connected_by,
      n.connected_at, CASE
        WHEN n.refused_reason IS NOT NULL THEN json_build_object('reason', n.refused_reason, 'at',
          wire_instant(n.refused_at))
        WHEN n.application_version <> a.version THEN json_build_object('reason',
          'The OAuth application is another one since then.', 'at', wire_instant(a.updated_at))
        END AS refused
    FROM plugin_oauth_connections n JOIN oauth_applications a ON a.id = n.application_id
      LEFT JOIN users u ON u.id = n.connected_by
    WHERE n.plugin_config_id = ${config_id}`);
  return row ?? null;
}

/** A new authorization. */
type NewRequest = {
  state: string;
  session_id: string;
  config_id: number;
  application: { id: string; version: number };
};

/** Time that a person has at the vendor: 10 minutes. */
const lifetime_seconds = 600;

/** Stores a new authorization, and deletes expired ones. */
export async function insertRequest(
  tx: Transaction,
  secrets: Pick<Secrets, 'hash'>,
  { state, session_id, config_id, application }: NewRequest,
): Promise<void> {
  await tx.run(sql`DELETE FROM plugin_oauth_requests WHERE expires_at <= now()`);
  await tx.run(sql`
    INSERT INTO plugin_oauth_requests (id, state_hash, session_id, plugin_config_id,
      application_id, application_version, expires_at)
    VALUES (${uuidv7()}::uuid, ${stateHash(secrets, state)}, ${session_id}::uuid, ${config_id},
      ${application.id}::uuid, ${application.version},
      now() + make_interval(secs => ${lifetime_seconds}))`);
}

/** An authorization in progress, with its purpose as of now. */
export type OauthRequest = {
  config_id: number;
  plugin_id: number;
  team_id: number;
  organization_id: string;
  plugin_name: string | null;
};

/**
 * Uses up an authorization. Undefined if this session has no valid one with this state for the
 * tool, if the person may no longer change plugins there, or if the application has changed. Of
 * concurrent uses, one succeeds.
 */
export function useRequest(
  db: Queryable,
  secrets: Pick<Secrets, 'hash'>,
  { state, session_id, tool }: { state: string; session_id: string; tool: string },
): Promise<OauthRequest | undefined> {
  return db.row<OauthRequest>(sql`
    WITH used AS (DELETE FROM plugin_oauth_requests
      WHERE state_hash = ${stateHash(secrets, state)} AND session_id = ${session_id}::uuid
        AND expires_at > now()
      RETURNING plugin_config_id, application_id, application_version, session_id)
    SELECT c.id AS config_id, c.plugin_id, c.team_id, t.organization_id, p.name AS plugin_name
    FROM used JOIN plugin_configs c ON c.id = used.plugin_config_id
      JOIN plugins p ON p.id = c.plugin_id JOIN projects t ON t.id = c.team_id
      JOIN organizations o ON o.id = t.organization_id
      JOIN oauth_applications a ON a.id = used.application_id
        AND a.version = used.application_version AND a.organization_id = o.id AND a.tool = ${tool}
      JOIN sessions s ON s.id = used.session_id
      JOIN members m ON m.user_id = s.user_id AND m.organization_id = o.id AND m.level >= 8
    WHERE o.plugins_access_level >= 3`);
}

function stateHash(secrets: Pick<Secrets, 'hash'>, state: string): Buffer {
  return secrets.hash(`tool authorization ${state}`);
}
