import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { HoldError } from '../running/hold.ts';
import { findApplication } from './application.ts';
import type { OauthApplication } from './application.ts';
import { OauthFault, refreshTokens } from './client.ts';
import type { IssuedTokens } from './client.ts';
import {
  findConnection,
  lifetimeOf,
  other_application,
  tokensContext,
  tokensOf,
} from './connection.ts';
import type { Connection } from './connection.ts';
import { revokeTokens } from './revoke_tokens.ts';
import type { OauthVendor } from './vendors.ts';

/** The parts that fetch tokens. */
export type OauthParts = {
  db: Database;
  secrets: Secrets;
  outbound: Pick<Outbound, 'fetch'>;
  log: Logger;
};
/** A config and its tool. */
export type OauthPlace = { config_id: number; tool: string; vendor: OauthVendor };

const waits = 'Until then events wait, and none is lost.';
const not_renewable =
  'The vendor no longer accepts the access token, and gave no refresh token. Connect the tool ' +
  `again. ${waits}`;
/** Longer than a request to a vendor and the storing of its answer. */
const claim_seconds = 30;
const look_pause_ms = 100;
const store_pause_ms = 500;
const store_tries_max = 120;

/**
 * Returns tokens that the vendor should accept; with `refused`, others than those of that
 * generation. One process refreshes at a time, and stores the tokens before anybody uses them.
 * Throws a HoldError that names the needed action.
 */
export async function currentConnection(
  parts: OauthParts,
  place: OauthPlace,
  signal: AbortSignal,
  refused?: number,
): Promise<Connection> {
  for (;;) {
    signal.throwIfAborted();
    const { connection, application } = await readConnection(parts, place);
    const isRefused = connection.generation === refused;
    if (!isRefused && !connection.is_due) return connection;
    if (connection.tokens.refresh_token === null) {
      if (!isRefused && !connection.is_expired) return connection;
      await parts.db.run(sql`UPDATE plugin_oauth_connections SET refused_reason = ${not_renewable},
        refused_at = now(), updated_at = now() WHERE plugin_config_id = ${place.config_id}
          AND generation = ${connection.generation}`);
      throw new HoldError(not_renewable);
    }
    const claim = await claimRefresh(parts.db, place.config_id, connection.generation);
    if (claim === undefined) {
      await pause(look_pause_ms, undefined, { signal });
      continue;
    }
    const fault = await refresh(parts, place, application, connection, claim);
    if (fault === undefined) continue;
    // A valid token bridges an outage of the vendor.
    if (!fault.is_final && !isRefused && !connection.is_expired) return connection;
    throw new HoldError(fault.reason);
  }
}

async function readConnection(
  { db, secrets }: OauthParts,
  { config_id, tool }: OauthPlace,
): Promise<{ connection: Connection; application: OauthApplication }> {
  const application = await findApplication(db, secrets, config_id, tool);
  if (application === undefined)
    throw new HoldError(
      `Your organization has no OAuth application for this tool. Register one. ${waits}`,
    );
  const connection = await findConnection(db, secrets, config_id);
  if (connection === undefined)
    throw new HoldError(`The tool is not connected. Open its page and connect it. ${waits}`);
  const isOther =
    connection.application_id !== application.id ||
    connection.application_version !== application.version;
  if (isOther) throw new HoldError(other_application);
  if (connection.refused_reason !== null) throw new HoldError(connection.refused_reason);
  return { connection, application };
}

/** Permission for this process to refresh. */
type Claim = { id: string; was_interrupted: boolean };

/**
 * Claims the refresh of these tokens; undefined: another process is refreshing them, or has done
 * so. Refused tokens are only claimed to record their end.
 */
export async function claimRefresh(
  db: Database,
  config_id: number,
  generation: number,
  their_end = false,
): Promise<Claim | undefined> {
  const id = uuidv7();
  const row = await db.row<{ was_interrupted: boolean }>(sql`
    UPDATE plugin_oauth_connections n SET refresh_claim = ${id}::uuid,
      refresh_until = now() + make_interval(secs => ${claim_seconds}), updated_at = now()
    FROM (SELECT plugin_config_id, refresh_claim FROM plugin_oauth_connections
      WHERE plugin_config_id = ${config_id} AND generation = ${generation}
        AND (refresh_until IS NULL OR refresh_until < now())
        AND (refused_reason IS NULL OR ${their_end}) FOR UPDATE) before
    WHERE n.plugin_config_id = before.plugin_config_id
    RETURNING before.refresh_claim IS NOT NULL AS was_interrupted`);
  return row === undefined ? undefined : { id, ...row };
}

type RefreshFault = { reason: string; is_final: boolean };

/** Refreshes the tokens and stores them; returns why there are none. */
async function refresh(
  parts: OauthParts,
  place: OauthPlace,
  application: OauthApplication,
  connection: Connection,
  claim: Claim,
): Promise<RefreshFault | undefined> {
  const { generation, tokens } = connection;
  let issued: IssuedTokens;
  try {
    issued = await refreshTokens(parts, application, tokens.refresh_token!);
  } catch (error) {
    if (!(error instanceof OauthFault)) throw error;
    return refuse(parts.db, place.config_id, claim, error);
  }
  const next = tokensOf(place.vendor, issued, tokens);
  const sealed = parts.secrets.seal(JSON.stringify(next), tokensContext(place.config_id));
  const { expires_at, refresh_at } = lifetimeOf(issued.expires_in);
  // The vendor may have replaced the refresh token, and nobody else has the new one. It is stored
  // unless a newer one is, even if another process has claimed the refresh by now.
  const store = () =>
    parts.db.run(sql`
      UPDATE plugin_oauth_connections SET tokens_sealed = ${sealed},
        generation = generation + 1, expires_at = ${expires_at}, refresh_at = ${refresh_at},
        scopes = coalesce(${issued.scopes ?? null}, scopes), refresh_claim = NULL,
        refresh_until = NULL, refused_reason = NULL, refused_at = NULL, updated_at = now()
      WHERE plugin_config_id = ${place.config_id} AND generation = ${generation}`);
  const stored = await untilStored(parts.log, place.config_id, store);
  // A deletion of the config meanwhile only revoked the earlier tokens.
  if (
    stored === 0 &&
    (await findConnection(parts.db, parts.secrets, place.config_id)) === undefined
  )
    await revokeTokens(parts, { ...connection, tokens: next }, application);
  return undefined;
}

/** Retries for a minute until the control store answers; returns the number of changed rows. */
async function untilStored(
  log: Logger,
  config_id: number,
  store: () => Promise<number>,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await store();
    } catch (error) {
      if (tries >= store_tries_max) throw error;
      if (tries === 1)
        log.warn({ err: error, plugin_config_id: config_id }, 'new tokens could not be stored yet');
      await pause(store_pause_ms);
    }
  }
}

/**
 * Stores why there are no tokens. After a lost answer the claim stays, so that it explains a later
 * refusal.
 */
async function refuse(
  db: Database,
  config_id: number,
  { id, was_interrupted }: Claim,
  { message, is_final }: OauthFault,
): Promise<RefreshFault> {
  const cause = was_interrupted
    ? ' The refresh before was interrupted after the vendor had replaced the token.'
    : '';
  const reason = is_final
    ? `The tool has to be connected again. ${message}${cause} ${waits}`
    : `The access token could not be refreshed. ${message} Sluice tries again. ${waits}`;
  await db.run(sql`
    UPDATE plugin_oauth_connections SET refresh_until = now(),
      refused_reason = CASE WHEN ${is_final} THEN ${reason} END,
      refused_at = CASE WHEN ${is_final} THEN now() END, updated_at = now()
    WHERE plugin_config_id = ${config_id} AND refresh_claim = ${id}::uuid`);
  return { reason, is_final };
}
