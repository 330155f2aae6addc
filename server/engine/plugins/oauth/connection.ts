import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { OauthApplication } from './application.ts';
import type { IssuedTokens } from './client.ts';
import type { OauthVendor } from './vendors.ts';

/** The secret part of a connection; `settings` came with the tokens. */
export type ConnectionTokens = {
  access_token: string;
  refresh_token: string | null;
  settings: Record<string, string>;
};

/** The tokens of a config as they are stored. */
export type Connection = {
  application_id: string;
  application_version: number;
  generation: number;
  tokens: ConnectionTokens;
  /** True if the access token must be replaced. */
  is_due: boolean;
  is_expired: boolean;
  /** Milliseconds until then; null: the vendor does not say. */
  due_in_ms: number | null;
  refused_reason: string | null;
};

/** The reason for a connection that was made with another client than the present one. */
export const other_application =
  'The OAuth application has changed since the tool was connected. Connect it again. Until ' +
  'then events wait, and none is lost.';

/** SQL: why a person has to connect `n` again; null while its tokens work. */
export const lost_reason = sql`(CASE WHEN n.refused_reason IS NOT NULL THEN n.refused_reason
  WHEN NOT EXISTS (SELECT 1 FROM oauth_applications a WHERE a.id = n.application_id
    AND a.version = n.application_version) THEN ${other_application} END)`;

/** Returns the context that seals the tokens of a config. */
export function tokensContext(config_id: number): string {
  return `plugin_oauth_connections:${config_id}:tokens_sealed`;
}

/** Finds the tokens of a config. */
export async function findConnection(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  config_id: number,
): Promise<Connection | undefined> {
  const row = await db.row<Omit<Connection, 'tokens'> & { tokens_sealed: Buffer }>(sql`
    SELECT application_id, application_version, generation, tokens_sealed, refused_reason,
      coalesce(refresh_at <= now(), false) AS is_due,
      coalesce(expires_at <= now(), false) AS is_expired,
      (1000 * extract(epoch FROM refresh_at - now()))::float8 AS due_in_ms
    FROM plugin_oauth_connections WHERE plugin_config_id = ${config_id}`);
  if (row === undefined) return undefined;
  const { tokens_sealed, ...connection } = row;
  const tokens = JSON.parse(secrets.open(tokens_sealed, tokensContext(config_id))) as never;
  return { ...connection, tokens };
}

/** Returns the new tokens in stored form; a refresh keeps tokens that the answer omits. */
export function tokensOf(
  vendor: OauthVendor,
  { access_token, refresh_token, fields }: IssuedTokens,
  before?: ConnectionTokens,
): ConnectionTokens {
  const settings = Object.entries(vendor.settings ?? {}).flatMap(([key, name]) => {
    const value = textOf(fields[name]);
    return value === undefined ? [] : [[key, value]];
  });
  return {
    access_token,
    refresh_token: refresh_token ?? before?.refresh_token ?? null,
    settings: { ...before?.settings, ...Object.fromEntries(settings) },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const account_length_max = 200;

/** Returns the owner of the tokens as the vendor names it. */
export function accountOf({ account }: OauthVendor, { fields }: IssuedTokens): string | null {
  const named = account === undefined ? undefined : textOf(fields[account]);
  return named?.slice(0, account_length_max).toWellFormed().replaceAll(/\p{C}/gu, '?') ?? null;
}

/** An access token is replaced a minute before it expires, or at a fifth of its lifetime before. */
const early_seconds_max = 60;

/** Returns SQL for the instants of an access token that lives this many seconds from now. */
export function lifetimeOf(expires_in: number | undefined) {
  const seconds = expires_in ?? null;
  const early = expires_in === undefined ? null : Math.min(early_seconds_max, expires_in / 5);
  return {
    expires_at: sql`now() + make_interval(secs => ${seconds}::float8)`,
    refresh_at: sql`now() + make_interval(secs => ${seconds}::float8 - ${early}::float8)`,
  };
}

/** The new connection of a config. */
type NewConnection = {
  config_id: number;
  application: Pick<OauthApplication, 'id' | 'version'>;
  vendor: OauthVendor;
  issued: IssuedTokens;
  connected_by: number | null;
};

/**
 * Stores the tokens of a config in place of the earlier ones. Workers load the config again, so
 * waiting events are sent at once.
 */
export async function storeConnection(
  tx: Queryable,
  secrets: Pick<Secrets, 'seal'>,
  { config_id, application, vendor, issued, connected_by }: NewConnection,
): Promise<void> {
  const sealed = secrets.seal(JSON.stringify(tokensOf(vendor, issued)), tokensContext(config_id));
  const { expires_at, refresh_at } = lifetimeOf(issued.expires_in);
  await tx.run(sql`
    INSERT INTO plugin_oauth_connections AS n (plugin_config_id, application_id,
      application_version, tokens_sealed, account, scopes, expires_at, refresh_at, connected_by)
    VALUES (${config_id}, ${application.id}::uuid, ${application.version}, ${sealed},
      ${accountOf(vendor, issued)}, ${issued.scopes ?? null}, ${expires_at}, ${refresh_at},
      ${connected_by})
    ON CONFLICT (plugin_config_id) DO UPDATE SET application_id = excluded.application_id,
      application_version = excluded.application_version, tokens_sealed = excluded.tokens_sealed,
      account = excluded.account, scopes = excluded.scopes, expires_at = excluded.expires_at,
      refresh_at = excluded.refresh_at, connected_by = excluded.connected_by,
      generation = n.generation + 1, refresh_claim = NULL, refresh_until = NULL,
      refused_reason = NULL, refused_at = NULL, connected_at = now(), updated_at = now()`);
  // Clears the reason to wait. No further notice is sent about it.
  await tx.run(sql`UPDATE plugin_cursors SET held_reason = NULL, held_at = NULL
    WHERE plugin_config_id = ${config_id}`);
  await touchConfig(tx, config_id);
}

/** Removes the tokens of a config; false: it had none. */
export async function removeConnection(tx: Queryable, config_id: number): Promise<boolean> {
  const removed = await tx.run(
    sql`DELETE FROM plugin_oauth_connections WHERE plugin_config_id = ${config_id}`,
  );
  if (removed > 0) await touchConfig(tx, config_id);
  return removed > 0;
}

/**
 * Stops the use of a config's tokens until it is connected again: its settings point elsewhere now,
 * and their editor may not be the person who connected it.
 */
export async function refuseConnection(tx: Queryable, config_id: number): Promise<void> {
  const reason =
    'The hosts or addresses of the tool have changed since it was connected. Connect it again. ' +
    'Until then events wait, and none is lost.';
  await tx.run(sql`UPDATE plugin_oauth_connections SET refused_reason = ${reason},
    refused_at = now(), updated_at = now() WHERE plugin_config_id = ${config_id}`);
}

async function touchConfig(tx: Queryable, config_id: number): Promise<void> {
  await tx.run(sql`UPDATE plugin_configs SET updated_at = now() WHERE id = ${config_id}`);
}
