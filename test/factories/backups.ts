import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandContext } from '../../server/cli/command_context.ts';
import { readConfig } from '../../server/config/config.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { withDatabase } from '../harness_stores.ts';
import type { StoreUrls } from '../harness_stores.ts';

/** The secret key of the harness. */
const secret_key = 'a secret that only tests have, 32 or more';

/** A passphrase for the backups of tests. */
export const passphrase = 'one that only tests have';

/** Runs commands on these stores, with their own data folder, and keeps their output. */
export function commandOn(
  urls: StoreUrls,
  folder: string,
): CommandContext & { said: string[]; environment: Record<string, string> } {
  const said: string[] = [];
  const environment = {
    SLUICE_DATABASE_URL: urls.database_url,
    SLUICE_CLICKHOUSE_URL: urls.clickhouse_url,
    SLUICE_SECRET_KEY: secret_key,
    SLUICE_DATA_DIR: join(folder, 'data'),
    SLUICE_EXPORT_DIR: folder,
    SLUICE_OUTBOUND_ALLOW: '127.0.0.0/8',
    SLUICE_BACKUP_PASSPHRASE: passphrase,
    SLUICE_SETTLE_SECONDS: '1',
  };
  const say = (line: string) => void said.push(line);
  return { config: readConfig(environment), log: silentLog(), say, said, environment };
}

/** Empty databases beside those of a test, for a restore, and a folder. */
export async function openEmptyStores(stores: StoreUrls, name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-restored-'));
  const db = openDatabase(stores.database_url, {
    connections_max: 1,
    application_name: 'sluice-test',
  });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
  const drop = async () => {
    await db.text(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await clickhouse.command({ query: `DROP DATABASE IF EXISTS ${name}` });
  };
  const create = async () => {
    await db.text(`CREATE DATABASE ${name}`);
    await clickhouse.command({ query: `CREATE DATABASE ${name}` });
  };
  await create();
  return {
    folder,
    database_url: withDatabase(stores.database_url, name),
    clickhouse_url: withDatabase(stores.clickhouse_url, name),
    /** Empties them again. */
    renew: async () => {
      await drop();
      await create();
    },
    close: async () => {
      await drop();
      await db.close();
      await clickhouse.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
