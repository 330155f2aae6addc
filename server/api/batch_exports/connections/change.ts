import { isDeepStrictEqual } from 'node:util';
import type { Static } from 'typebox';
import {
  connectionContext,
  isGivenSecret,
  loadConfig,
  storeConfig,
} from '../../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { invalidMany } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { FullConfig } from '../body/destination_body.ts';
import { rulesFor } from '../body/operator_rules.ts';
import { openedConnection } from '../body/used_connection.ts';
import { applyToExports } from './apply.ts';
import { changedKeys, checkedKeys, definitionOf } from './input.ts';
import type { ConnectionCreate, ConnectionPatch } from './schema.ts';
import { findStoredConnection, insertConnection, updateConnection } from './store.ts';
import type { StoredConnection } from './store.ts';

/** Adds a connection, and returns its stored form; throws 400 for invalid keys. */
export async function createConnection(
  engine: Engine,
  tx: Transaction,
  given: Static<typeof ConnectionCreate> & { id: string; organization_id: string },
): Promise<StoredConnection> {
  const { id, organization_id, name, type } = given;
  const { config, violations } = checkedKeys(type, given.config, rulesFor(engine, organization_id));
  throwIfAny(violations);
  const sealed = sealedConfig(engine, id, type, config);
  await insertConnection(tx, { id, organization_id, name, destination_type: type, ...sealed });
  return (await findStoredConnection(tx, organization_id, id))!;
}

/** A change of a connection under the caller's lock. */
export type WantedChange = {
  stored: StoredConnection;
  sent: Static<typeof ConnectionPatch>;
  how: 'merge' | 'replace';
};

/**
 * Changes a connection and every export that uses it; returns its stored form. Throws 400 for
 * invalid keys, for secrets that would reach another address, and if an export cannot work with the
 * change.
 */
export async function changeConnection(
  engine: Engine,
  tx: Transaction,
  organization_id: string,
  { stored, sent, how }: WantedChange,
): Promise<StoredConnection> {
  const { id, destination_type: type } = stored;
  const before = loadConfig(engine.secrets, id, stored, connectionContext);
  const unchanged = { config: before, violations: [] };
  const { config, violations } =
    sent.config === undefined
      ? unchanged
      : changedKeys({ type, config: before }, sent.config, how, rulesFor(engine, organization_id));
  throwIfAny([...typeViolations(type, sent.type), ...violations]);
  const isMoved = !isDeepStrictEqual(config, before);
  const name = sent.name ?? stored.name;
  if (!isMoved && name === stored.name) return stored;
  // An equal config keeps its seal, because each seal differs.
  const sealed = isMoved
    ? sealedConfig(engine, id, type, config)
    : { ...stored, secret_keys: givenSecrets(type, config) };
  await updateConnection(tx, id, { ...sealed, name });
  const after = (await findStoredConnection(tx, organization_id, id))!;
  if (isMoved) await applyToExports(engine, tx, organization_id, openedConnection(engine, after));
  return after;
}

function typeViolations(type: string, sent: string | undefined): Violation[] {
  if (sent === undefined || sent === type) return [];
  const detail = `The type cannot change from ${type}: create a connection of type ${sent}.`;
  return [{ attr: 'type', code: 'invalid_input', detail }];
}

function sealedConfig(
  { secrets }: Engine,
  id: string,
  type: string,
  config: FullConfig,
): StoredConfig & { secret_keys: string[] } {
  const sealed = storeConfig(secrets, id, config, definitionOf(type).secrets, connectionContext);
  return { ...sealed, secret_keys: givenSecrets(type, config) };
}

function givenSecrets(type: string, config: FullConfig): string[] {
  return definitionOf(type).secrets.filter(
    (key) => Object.hasOwn(config, key) && isGivenSecret(config[key]),
  );
}

function throwIfAny(violations: Violation[]): void {
  if (violations.length > 0) throw invalidMany(violations);
}
