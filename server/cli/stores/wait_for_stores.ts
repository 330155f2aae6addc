import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import {
  isOlder,
  version_query,
  without_settings,
} from '../../platform/clickhouse/oldest_version.ts';
import { findMode } from '../../platform/clickhouse/topology/detect.ts';
import type { Logger } from '../../platform/log.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { requireOwnSessions } from '../../platform/postgres/pooler.ts';
import { UserError } from '../user_error.ts';

/** Older releases cannot create our tables; docs/operating.md names the supported ones. */
const oldest_clickhouse = '25.9';
const default_wait_ms = 30_000;
const pause_ms = 250;
// SQLSTATE classes of a server that is starting, stopping or out of connections; any other error is
// final.
const passing_states = /^(57P|08|53)/;

/**
 * Returns when both stores answer. Waits up to 30 s for each store that is starting or restarting,
 * or that does not answer. If a store refuses (a wrong password, a missing database) or stays away,
 * throws a `UserError` with the store and the reason.
 */
export async function waitForStores(
  { db, database_url, clickhouse }: { db: Database; database_url: string; clickhouse: ClickHouse },
  log: Logger,
  wait_ms_max = default_wait_ms,
): Promise<void> {
  await waitForPostgres(db, database_url, log, wait_ms_max);
  await waitForClickHouse(clickhouse, log, wait_ms_max);
}

/**
 * Returns when PostgreSQL answers; fails like `waitForStores`. Throws a
 * `ControlStoreError` if a pooler mixes its sessions.
 */
export async function waitForPostgres(
  db: Database,
  url: string,
  log: Logger,
  wait_ms_max: number,
): Promise<void> {
  await waitFor(
    { store: 'PostgreSQL', setting: 'SLUICE_DATABASE_URL', wait_ms_max, log },
    isPassingInPostgres,
    // Not prepared: such a pooler would report that another session has prepared it.
    () => db.text('SELECT 1 AS up'),
  );
  await requireOwnSessions(url);
}

/** The option that names a store to fill, in error texts that otherwise name the setting. */
export const filled_by = '--to';

/**
 * Returns when ClickHouse answers and its mode is known; fails like `waitForStores`. A
 * mode that Sluice cannot use is a `UserError`. So is a store with an unfinished move, except for
 * the command that fills it.
 */
export async function waitForClickHouse(
  clickhouse: ClickHouse,
  log: Logger,
  wait_ms_max: number,
  setting = 'SLUICE_CLICKHOUSE_URL',
): Promise<void> {
  const asked = { query: version_query, clickhouse_settings: without_settings };
  let version = '';
  await waitFor(
    { store: 'ClickHouse', setting, wait_ms_max, log },
    isPassingInClickHouse,
    async () => {
      const [row] = await clickhouse.rows<{ version: string }>(asked);
      version = row?.version ?? '';
    },
  );
  if (isOlder(version, oldest_clickhouse))
    throw new UserError(
      `ClickHouse (${setting}) cannot be used: ${version} is too old, because projections cannot ` +
        'have settings there. Update it to 26.3 or newer.',
    );
  const { problem, warning, is_filled } = await findMode(clickhouse);
  if (problem !== undefined)
    throw new UserError(`ClickHouse (${setting}) cannot be used: ${problem}`);
  if (is_filled === true && setting !== filled_by)
    throw new UserError(
      `ClickHouse (${setting}) cannot be used: the move into it has not ended, and rows are ` +
        'missing. End it with `sluice migrate-store --to ... --switch`, with the settings of the ' +
        'former store.',
    );
  if (warning !== undefined) log.warn(`ClickHouse (${setting}): ${warning}`);
}

class NoAnswer extends Error {}

type Waiting = { store: string; setting: string; wait_ms_max: number; log: Logger };

async function waitFor(
  { store, setting, wait_ms_max, log }: Waiting,
  isPassing: (error: unknown) => boolean,
  ask: () => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + wait_ms_max;
  let told: unknown;
  for (;;) {
    try {
      await answerBefore(end, ask());
      return;
    } catch (error) {
      // The last try may have had no time left; an earlier error says more.
      const reason = reasonOf(error instanceof NoAnswer ? (told ?? error) : error);
      if (!isPassing(error) || performance.now() > end)
        throw new UserError(`${store} (${setting}) cannot be used: ${reason}`);
      if (told === undefined) log.warn({ err: error }, `waiting for ${store}`);
      told = error;
      await pause(pause_ms);
    }
  }
}

/**
 * For a name with several addresses, Node throws an error per address and no text for the whole.
 */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/**
 * Rejects if the answer does not come in time. The clients' own timeout is as long as an export,
 * and a starting process must not wait that long.
 */
async function answerBefore(end: number, answer: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const late = pause(Math.max(0, end - performance.now()), undefined, { signal: over.signal }).then(
    () => {
      throw new NoAnswer('it takes the question and does not answer; look whether it is well.');
    },
  );
  late.catch(() => undefined);
  try {
    await Promise.race([answer, late]);
  } finally {
    over.abort();
  }
}

function isPassingInPostgres(error: unknown): boolean {
  return isDatabaseError(error) ? passing_states.test(error.code) : true;
}

function isPassingInClickHouse(error: unknown): boolean {
  // An answer of the server has ClickHouse's error type; other errors never reached the server.
  return !(error instanceof Error && 'type' in error && typeof error.type === 'string');
}
