import { loadConfig, connectionContext } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isFields } from '../../../platform/fields.ts';
import { conflict } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { isUuid } from '../../../platform/uuid.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { findStoredConnection } from '../connections/store.ts';
import type { StoredConnection } from '../connections/store.ts';
import type { FullConfig } from './destination_body.ts';

/** A connection with its secrets, in memory only. */
export type UsedConnection = Pick<StoredConnection, 'id' | 'name' | 'last_updated_at'> & {
  type: string;
  config: FullConfig;
};

/** The connection of an export after a change; `is_changed` if it is another one than before. */
export type ConnectionCheck = {
  organization_id: string;
  used: UsedConnection | undefined;
  is_changed: boolean;
  violations: Violation[];
};

/** Returns a stored connection, with its secrets opened. */
export function openedConnection(
  { secrets }: Pick<Engine, 'secrets'>,
  stored: StoredConnection,
): UsedConnection {
  const { id, name, last_updated_at, destination_type: type } = stored;
  const config = loadConfig(secrets, id, stored, connectionContext);
  return { id, name, last_updated_at, type, config };
}

/**
 * Returns the connection of an organization's export after a change, from the sent body and the
 * current connection. With `lock`, nobody can change a newly chosen connection until the
 * transaction ends.
 */
export async function checkConnection(
  engine: Pick<Engine, 'secrets'>,
  db: Queryable,
  { organization_id }: Pick<Place, 'organization_id'>,
  { raw, current, lock }: { raw: unknown; current: string | null; lock?: 'lock' },
): Promise<ConnectionCheck> {
  const sent = isFields(raw) ? raw['connection_id'] : undefined;
  const id = sent === null || (typeof sent === 'string' && isUuid(sent)) ? sent : current;
  const is_changed = id !== current;
  if (id === null) return { organization_id, used: undefined, is_changed, violations: [] };
  // A change of the current connection waits for the export's own lock anyway.
  const stored = await findStoredConnection(db, organization_id, id, is_changed ? lock : undefined);
  if (stored !== undefined)
    return { organization_id, used: openedConnection(engine, stored), is_changed, violations: [] };
  const detail = 'The organization has no connection with this id.';
  const violations: Violation[] = [{ attr: 'connection_id', code: 'invalid_input', detail }];
  return { organization_id, used: undefined, is_changed: false, violations };
}

/**
 * Locks a connection that was read without a lock, until the transaction ends; throws 409 if it has
 * changed or is gone.
 */
export async function holdConnection(
  tx: Transaction,
  organization_id: string,
  used: UsedConnection | undefined,
): Promise<void> {
  if (used === undefined) return;
  const held = await findStoredConnection(tx, organization_id, used.id, 'lock');
  if (held?.last_updated_at !== used.last_updated_at)
    throw conflict('The connection was changed meanwhile: send the request again.');
}
