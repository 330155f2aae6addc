import { setTimeout as pause } from 'node:timers/promises';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { findApplication } from './application.ts';
import { findConnection } from './connection.ts';
import { claimRefresh } from './refresh.ts';
import type { OauthParts } from './refresh.ts';
import { revokeTokens } from './revoke_tokens.ts';

const look_pause_ms = 100;

/**
 * Revokes the tokens of a config at the vendor, and returns why it failed; null: it succeeded.
 * Waits for a refresh in progress, so that no token escapes; none begins before the claim has
 * expired.
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
 * Prepares to revoke the tokens of a config that this transaction deletes. The returned function
 * revokes them afterwards, and does not throw the vendor's errors.
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
