import type pg from 'pg';
import type { Primary } from './primary.ts';
import { ControlStoreError } from './control_store_error.ts';

/** Settings of a session, by their names in PostgreSQL. */
type SessionSettings = Record<string, string>;

/** The texts and the waits of every session depend on these, whatever role and database set. */
const common: SessionSettings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
};

/**
 * Applies the settings that a session needs in addition to its own, and checks them: poolers drop
 * the settings that a connection requests when it opens. Rejects with a `ControlStoreError` if they
 * are missing.
 */
export async function settle(client: pg.ClientBase, own: SessionSettings): Promise<void> {
  const wanted = Object.entries({ ...common, ...own });
  const set = client.query(wanted.map(([name, value]) => `SET ${name} = '${value}'`).join('; '));
  const names = wanted.map(([name]) => `'${name}'`).join(', ');
  const asked = client.query<{ name: string; setting: string }>(
    `SELECT name, current_setting(name) AS setting FROM pg_settings WHERE name IN (${names})`,
  );
  const [, { rows }] = await Promise.all([set, asked]);
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const wrong = wanted.find(([name, value]) => found.get(name) !== value);
  if (wrong !== undefined) throw strangeSession(wrong[0], wrong[1], found.get(wrong[0]));
}

/**
 * Admits a new session of the pool with its settings; its transactions may be idle for 2 minutes.
 */
export async function openSession(client: pg.ClientBase, primary: Primary): Promise<void> {
  const own = { idle_in_transaction_session_timeout: '2min' };
  await Promise.all([primary.admit(client), settle(client, own)]);
}

function strangeSession(name: string, wanted: string, found = 'nothing'): ControlStoreError {
  return new ControlStoreError(
    `A session of PostgreSQL does not keep its settings: ${name} is ${found} after it was set to ` +
      `${wanted}. ${what_to_do}`,
  );
}

/** The action for an operator whose pooler splits sessions. */
export const what_to_do =
  'A pooler in between, such as pgbouncer with pool_mode = transaction or statement, gives ' +
  'each transaction another session. Sluice needs real sessions: set pool_mode = session for ' +
  'its database, or point SLUICE_DATABASE_URL at PostgreSQL itself.';
