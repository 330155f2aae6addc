import { createPrivateKey } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { readContractRows, damageIn } from '../../../../test/factories/batch_exports/deliveries.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { snowflake } from './snowflake.ts';
import {
  openAroundTests,
  deps,
  server,
  pool,
  plain,
  freshConfig,
  inSchema,
  tables,
  leftovers,
} from '../../../../test/destinations/snowflake_world.ts';

const opened = openAroundTests();

const readBack = async (config: Config) =>
  (await tables(config)).includes('events') ? readContractRows(pool, inSchema(config)) : [];

testDestination({
  definition: snowflake,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: freshConfig,
  alternatives: async (config) => {
    const cipher = {
      format: 'pem',
      type: 'pkcs8',
      cipher: 'aes-256-cbc',
      passphrase: 'open sesame',
    } as const;
    const private_key = createPrivateKey(server.private_key).export(cipher).toString();
    return [
      {
        ...config,
        authentication_type: 'keypair',
        password: null,
        private_key,
        private_key_passphrase: cipher.passphrase,
      },
    ];
  },
  readBack,
  leftovers,
  misconfigure: async (config) => {
    await pool.query(`CREATE TABLE ${inSchema(config, 'other')} (uuid text, event text)`);
    await pool.query(`CREATE VIEW ${inSchema(config, 'view')} AS SELECT 1 AS uuid`);
    const { port } = plain.address() as AddressInfo;
    return [
      { name: 'no such role', change: { role: 'ACCOUNTADMIN' }, code: 'permission_denied' },
      { name: 'no such warehouse', change: { warehouse: 'loading' }, code: 'warehouse_missing' },
      { name: 'no such database', change: { database: 'analytics' }, code: 'database_missing' },
      {
        name: 'TLS is not offered',
        change: { host: `localhost:${port}` },
        code: 'tls_not_offered',
      },
      {
        name: 'certificate for another host',
        change: { host: server.host.replace('localhost', '127.0.0.1') },
        code: 'tls_not_verified',
      },
      { name: 'a view', change: { table_name: 'view' }, code: 'table_unsuitable' },
    ];
  },
  invalid: [
    {
      name: 'account is a URL',
      change: { account: 'https://myorg-myaccount.snowflakecomputing.com' },
    },
    { name: 'account is a host', change: { account: 'myorg-myaccount.snowflakecomputing.com' } },
    { name: 'no password', change: { password: undefined } },
    { name: 'password is null', change: { password: null } },
    { name: 'another authentication', change: { authentication_type: 'oauth' } },
    { name: 'no key', change: { authentication_type: 'keypair' }, attr: 'private_key' },
    {
      name: 'key is no key',
      change: { authentication_type: 'keypair', private_key: 'secret' },
      attr: 'private_key',
    },
    { name: 'host with a path', change: { host: 'localhost/x' } },
    { name: 'host with a wrong port', change: { host: 'localhost:70000' } },
    { name: 'table of receipts', change: { table_name: 'SLUICE_receipts' } },
    { name: 'NUL in a name', change: { warehouse: 'a\0b' } },
  ],
  damage: damageIn(
    () => pool,
    (config) => inSchema(config),
  ),
  large_shown_by: 'snowflake_delivery.test.ts',
  has_nul: false,
  numbers_by_value: true,
  recovers: true,
});
