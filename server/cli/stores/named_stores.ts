import type { Config } from '../../config/config.ts';
import { addressesOf } from '../../platform/clickhouse/client.ts';
import { silentLog } from '../../platform/log.ts';
import { ControlStoreError } from '../../platform/postgres/control_store_error.ts';
import { readStandbys } from '../../platform/postgres/control_store.ts';
import { splitHosts } from '../../platform/postgres/hosts.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { openAnalytics } from './analytics_store.ts';
import { fault, ok, warning } from '../doctor/finding.ts';
import type { Finding } from '../doctor/finding.ts';
import { standbyFinding } from '../doctor/primary_findings.ts';
import { findRunning } from './stores.ts';
import { UserError } from '../user_error.ts';
import { waitForClickHouse, waitForPostgres } from './wait_for_stores.ts';

/** A person waits for the answer, so a store that does not answer in this time is reported. */
const wait_ms_max = 5_000;

/**
 * Returns a finding for each store that the settings name: whether it answers, and whether the
 * server on the data folder uses it. A running server ignores such a setting, so only this finding
 * shows a wrong one.
 */
export async function lookAtNamedStores(config: Config): Promise<Finding[]> {
  const running = findRunning(config);
  const found: Promise<Finding[]>[] = [];
  if (config.database_url !== undefined)
    found.push(
      look('SLUICE_DATABASE_URL', config.database_url, running?.database_url, async (url) => {
        const options = { connections_max: 1, application_name: 'sluice-doctor' };
        const db = openDatabase(url, options);
        try {
          await waitForPostgres(db, url, silentLog(), wait_ms_max);
          // While a standby is missing, every change waits, also the changes of a start. So no
          // process is opened.
          const standby = standbyFinding(await readStandbys(db));
          return standby.state === 'fault' ? [standby] : [];
        } finally {
          await db.close();
        }
      }),
    );
  if (config.clickhouse_url !== undefined)
    found.push(
      look('SLUICE_CLICKHOUSE_URL', config.clickhouse_url, running?.clickhouse_url, async (url) => {
        const at = { clickhouse_url: url };
        const clickhouse = openAnalytics(config, at, { application: 'sluice-doctor' });
        const asked = waitForClickHouse(clickhouse, silentLog(), wait_ms_max);
        await asked.finally(() => clickhouse.close());
        return [];
      }),
    );
  return (await Promise.all(found)).flat();
}

async function look(
  variable: string,
  url: string,
  used: string | undefined,
  ask: (url: string) => Promise<Finding[]>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const more = await ask(url);
    findings.push(ok(variable, 'answers'), ...more);
  } catch (error) {
    if (!(error instanceof UserError || error instanceof ControlStoreError)) throw error;
    findings.push(fault(variable, error.message));
  }
  if (used !== undefined && placesOf(used) !== placesOf(url))
    findings.push(
      warning(
        variable,
        'the running server uses another store; started again with these settings it would ' +
          'use this one.',
      ),
    );
  return findings;
}

/**
 * Returns the addresses of a store's servers without the user; for a socket its folder and port.
 */
function placesOf(text: string): string {
  const servers = text.startsWith('postgres') ? splitHosts(text) : addressesOf(text);
  return servers.map(placeOf).join(', ');
}

function placeOf(text: string): string {
  // A socket URL, such as that of the embedded server, has no host, and `URL` refuses a user
  // without one.
  const named = text.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?=[/?#]|$)/, '$1socket');
  const { protocol, host, pathname, searchParams } = new URL(named);
  return [
    protocol.replace('postgresql', 'postgres'),
    host,
    pathname,
    searchParams.get('host'),
    searchParams.get('port'),
  ].join(' ');
}
