import { setTimeout as pause } from 'node:timers/promises';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { findApplication } from './application.ts';
import type { OauthApplication } from './application.ts';
import { OauthFault, revokeToken } from './client.ts';
import { findConnection } from './connection.ts';
import type { Connection } from './connection.ts';
import { claimRefresh } from './refresh.ts';
import type { OauthParts } from './refresh.ts';

const look_pause_ms = 100;

/**
 * Revokes the tokens of a config at the vendor, and returns why it did not; null: it did. A refresh
 * in progress ends before, so no token escapes; none begins before the claim has expired.
 */
export async function revokeConnection(
  parts: Omit<OauthParts, 'log'>,
  config_id: number,
  tool: string,
): Promise<string | null> {
  for (;;) {
    const connection = await findConnection(parts.db, parts.secrets, config_id);
    if (connection === undefined) return 'The tool is not connected.';
    const claim = await claimRefresh(parts.db, config_id, connection.generation, true);
    if (claim === undefined) {
      await pause(look_pause_ms);
      continue;
    }
    return revokeTokens(
      parts,
      connection,
      await findApplication(parts.db, parts.secrets, config_id, tool),
    );
  }
}

/**
 * Prepares to revoke the tokens of a config that is deleted in this transaction: the function
 * does it afterwards, and throws nothing that the vendor says.
 */
export async function revocationOf(
  tx: Queryable,
  parts: Omit<OauthParts, 'log' | 'db'>,
  config_id: number,
  tool: string,
): Promise<() => Promise<unknown>> {
  const connection = await findConnection(tx, parts.secrets, config_id);
  const application = await findApplication(tx, parts.secrets, config_id, tool);
  return async () => connection && revokeTokens(parts, connection, application);
}

async function revokeTokens(
  parts: Omit<OauthParts, 'log' | 'db'>,
  connection: Connection,
  application: OauthApplication | undefined,
): Promise<string | null> {
  const isTheirs =
    application?.id === connection.application_id &&
    application.version === connection.application_version;
  if (!isTheirs) return 'The OAuth application is another one now: revoke them at the vendor.';
  if (application.revoke_url === null)
    return 'The application has no address for that: revoke them at the vendor.';
  const { access_token, refresh_token } = connection.tokens;
  try {
    // Not every vendor takes the access token away with the refresh token.
    if (refresh_token !== null)
      await revokeToken(parts, application, refresh_token, 'refresh_token');
    await revokeToken(parts, application, access_token, 'access_token');
    return null;
  } catch (error) {
    if (error instanceof OauthFault) return error.message;
    throw error;
  }
}
