import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { ControlStoreError } from './control_store_error.ts';
import { findPrimaryUrl } from './primary.ts';
import { what_to_do } from './session_settings.ts';

/**
 * A pooler assigns the most recently used session of the server, so the first round usually detects
 * it.
 */
const rounds = 10;
const connect_ms_max = 10_000;

/**
 * Throws a `ControlStoreError` if a pooler gives each transaction another session of the server:
 * call it before anything is changed there. A server without a pooler is not checked further.
 */
export async function requireOwnSessions(url: string): Promise<void> {
  const connectionString = await findPrimaryUrl(url);
  const open = () => {
    const client = new pg.Client({
      connectionString,
      application_name: 'sluice-look',
      connectionTimeoutMillis: connect_ms_max,
    });
    client.on('error', () => {});
    return client;
  };
  const one = open();
  const other = open();
  try {
    await one.connect();
    if (await isServerItself(one)) return;
    await other.connect();
    for (let round = 0; round < rounds; round += 1)
      if (await areMixed(one, other))
        throw new ControlStoreError(
          'PostgreSQL is reached through a pooler that mixes sessions. Nothing was changed. ' +
            what_to_do,
        );
  } finally {
    await Promise.allSettled([one.end(), other.end()]);
  }
}

/** A pooler sends its own keys for cancelling statements. */
async function isServerItself(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid === (client as unknown as { processID: number | null }).processID;
}

/** Returns true if a setting of one connection is lost, or visible to the other one. */
async function areMixed(one: pg.Client, other: pg.Client): Promise<boolean> {
  const mark = randomUUID();
  const markOf = async (client: pg.Client) => {
    const asked = "SELECT current_setting('sluice.mark', true) AS mark";
    return (await client.query<{ mark: string | null }>(asked)).rows[0]!.mark;
  };
  await one.query(`SET sluice.mark = '${mark}'`);
  if (!(await begins(other))) return true;
  try {
    return (await markOf(other)) === mark || (await markOf(one)) !== mark;
  } finally {
    await other.query('COMMIT');
  }
}

/** A pooler that gives each statement another session refuses transactions. */
async function begins(client: pg.Client): Promise<boolean> {
  try {
    await client.query('BEGIN');
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return false;
    throw error;
  }
}
