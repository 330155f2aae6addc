import {
  readContractRows,
  tablesIn,
  damageIn,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { ssh_secrets } from '../sql_tables/ssh/ssh_config.ts';
import { postgres } from './postgres.ts';
import {
  openAroundTests,
  deps,
  pool,
  plain,
  freshConfig,
  inSchema,
} from '../../../../test/destinations/postgres_world.ts';

const opened = openAroundTests();

const tables = (config: Config) => tablesIn(pool, config['schema']);

const readBack = async (config: Config) =>
  (await tables(config)).includes('events') ? readContractRows(pool, inSchema(config)) : [];

testDestination({
  definition: postgres,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: freshConfig,
  // See postgres_tunnel.test.ts.
  planted_elsewhere: ssh_secrets,
  readBack,
  leftovers: async (config) =>
    (await tables(config)).filter((name) => !['events', 'sluice_receipts'].includes(name)),
  misconfigure: async (config) => {
    await pool.query(`CREATE TABLE ${inSchema(config, 'other')} (uuid text, event text)`);
    return [{ name: 'TLS is not offered', change: { port: plain.port }, code: 'tls_not_offered' }];
  },
  invalid: [
    { name: 'host is a URL', change: { host: 'https://db.example.com/' } },
    { name: 'host is a socket', change: { host: '/var/run/postgresql' } },
    { name: 'port too large', change: { port: 70_000 } },
    { name: 'table of receipts', change: { table_name: 'sluice_receipts' } },
    { name: 'NUL in a name', change: { table_name: 'a\0b' } },
    { name: 'name of more than 63 bytes', change: { table_name: 'é'.repeat(40) } },
  ],
  damage: damageIn(
    () => pool,
    (config) => inSchema(config),
  ),
  has_nul: false,
  numbers_by_value: true,
  recovers: true,
});
