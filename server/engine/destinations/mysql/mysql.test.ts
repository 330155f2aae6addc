import { parseExact } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { ssh_secrets } from '../sql_tables/ssh/ssh_config.ts';
import { mysql } from './mysql.ts';
import {
  onMariaDb,
  deps,
  plain,
  freshConfig,
  inDatabase,
  rows,
  run,
} from '../../../../test/destinations/mysql_contract_world.ts';

async function tables(config: Config): Promise<string[]> {
  const found = await rows<{ name: string }>(
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?',
    [config['database']],
  );
  return found.map((row) => row.name).sort();
}

async function readBack(config: Config): Promise<Record<string, unknown>[]> {
  if (!(await tables(config)).includes('events')) return [];
  const instant = "DATE_FORMAT(timestamp, '%Y-%m-%dT%H:%i:%s.%fZ') AS timestamp";
  // Without a key, InnoDB's own row number orders the rows.
  const found = await rows<Record<string, unknown>>(
    `SELECT uuid, event, properties, note, ${instant}, CAST(amount AS CHAR) AS amount,
      CAST(ratio AS CHAR) AS ratio, is_new FROM ${inDatabase(config)}`,
  );
  return found.map((row) => ({
    ...row,
    properties: parseExact(String(row['properties'])),
    ratio: row['ratio'] === null ? null : Number(row['ratio']),
    is_new: row['is_new'] === 1,
  }));
}

onMariaDb(() => {
  testDestination({
    definition: mysql,
    start: async () => deps,
    stop: async () => undefined,
    configure: freshConfig,
    // See postgres_tunnel.test.ts.
    planted_elsewhere: ssh_secrets,
    readBack,
    leftovers: async (config) =>
      (await tables(config)).filter((name) => !['events', 'sluice_receipts'].includes(name)),
    misconfigure: async (config) => {
      await run(`CREATE TABLE ${inDatabase(config, 'other')} (uuid text, event text)`);
      await run(`CREATE TABLE ${inDatabase(config, 'old')} (uuid text) ENGINE = MyISAM`);
      await run(
        `CREATE VIEW ${inDatabase(config, 'view')} AS SELECT * FROM ${inDatabase(config, 'other')}`,
      );
      return [
        { name: 'no transactions', change: { table_name: 'old' }, code: 'table_unsuitable' },
        { name: 'a view', change: { table_name: 'view' }, code: 'table_unsuitable' },
        { name: 'TLS is not offered', change: { port: plain.port }, code: 'tls_not_offered' },
      ];
    },
    invalid: [
      { name: 'host is a URL', change: { host: 'https://db.example.com/' } },
      { name: 'host is a socket', change: { host: '/run/mysqld/mysqld.sock' } },
      { name: 'port too large', change: { port: 70_000 } },
      { name: 'table of receipts', change: { table_name: 'Sluice_Receipts' } },
      { name: 'NUL in a name', change: { table_name: 'a\0b' } },
      { name: 'name beyond the basic plane', change: { table_name: 'a😀' } },
      { name: 'blank at the end', change: { table_name: 'a ' } },
    ],
    damage: {
      changed: (config) =>
        run(`INSERT INTO ${inDatabase(config)} SELECT * FROM ${inDatabase(config)} LIMIT 1`),
      value: (config) =>
        run(
          `UPDATE ${inDatabase(config)} SET event = 'plane', properties = '{"a": 2}'
          WHERE event = 'plain'`,
        ),
      missing: (config) => run(`DELETE FROM ${inDatabase(config)} LIMIT 1`),
      added: (config) => run(`INSERT INTO ${inDatabase(config)} (uuid) VALUES ('stranger')`),
    },
    large_shown_by: 'mysql_delivery.test.ts',
    has_nul: true,
    recovers: true,
  });
});
