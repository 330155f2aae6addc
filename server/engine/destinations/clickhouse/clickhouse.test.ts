import type { AddressInfo } from 'node:net';
import { parseExact } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { clickhouse } from './clickhouse.ts';
import {
  openAroundTests,
  deps,
  client,
  plain,
  page,
  freshConfig,
  inDatabase,
  rows,
  run,
} from '../../../../test/destinations/clickhouse_world.ts';

const opened = openAroundTests();

async function tables(config: Config): Promise<string[]> {
  const found = await rows<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = {database:String} ORDER BY name',
    {
      database: String(config['database']),
    },
  );
  return found.map((row) => row.name);
}

async function readBack(config: Config): Promise<Record<string, unknown>[]> {
  if (!(await tables(config)).includes('events')) return [];
  const instant = "concat(replaceOne(toString(timestamp), ' ', 'T'), 'Z') AS instant";
  const found = await rows<Record<string, unknown>>(
    `SELECT uuid, event, properties, note, ${instant}, toString(amount) AS amount_text, ratio,
      is_new FROM ${inDatabase(config)}`,
  );
  return found.map(({ instant: timestamp, amount_text: amount, properties, ...row }) => ({
    ...row,
    timestamp,
    amount,
    properties: parseExact(String(properties)),
  }));
}

testDestination({
  definition: clickhouse,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: freshConfig,
  readBack,
  leftovers: async (config) =>
    (await tables(config)).filter((name) => !['events', 'sluice_receipts'].includes(name)),
  misconfigure: async (config) => {
    await client.command({
      query: `CREATE TABLE ${inDatabase(config, 'other')} (uuid UUID,
        event String) ENGINE = MergeTree ORDER BY ()`,
    });
    await client.command({
      query: `CREATE TABLE ${inDatabase(config, 'log')} (uuid UUID) ENGINE = Log`,
    });
    await client.command({
      query: `CREATE TABLE ${inDatabase(config, 'parted')} (_partition_id String)
        ENGINE = MergeTree ORDER BY ()`,
    });
    return [
      {
        name: 'no such host',
        change: { url: 'https://no-such-host.invalid:8443' },
        code: 'host_not_found',
      },
      {
        name: 'a private address',
        change: { url: 'https://10.0.0.1:8443' },
        code: 'outbound_refused',
      },
      { name: 'hidden partitions', change: { table_name: 'parted' }, code: 'table_unsuitable' },
      { name: 'a table without parts', change: { table_name: 'log' }, code: 'table_unsuitable' },
      {
        name: 'TLS is not offered',
        change: { url: plain.url.replace('http:', 'https:') },
        code: 'tls_not_offered',
      },
      {
        name: 'another server',
        change: { url: `http://127.0.0.1:${(page.address() as AddressInfo).port}` },
        code: 'not_clickhouse',
      },
    ];
  },
  invalid: [
    { name: 'url is a host', change: { url: 'db.example.com' } },
    { name: 'url of the native protocol', change: { url: 'tcp://db.example.com:9000' } },
    { name: 'url with a password', change: { url: 'https://a:b@db.example.com' } },
    { name: 'url with a database', change: { url: 'https://db.example.com/d' } },
    { name: 'table of receipts', change: { table_name: 'sluice_receipts' } },
    { name: 'NUL in a name', change: { table_name: 'a\0b' } },
    { name: 'name of more bytes than a file can have', change: { table_name: 'é'.repeat(40) } },
  ],
  damage: {
    changed: (config) =>
      run(
        `INSERT INTO ${inDatabase(config)} SELECT * FROM ${inDatabase(config)} ORDER BY uuid
          LIMIT 1`,
      ),
    value: async (config) => {
      await run(
        `INSERT INTO ${inDatabase(config)} SELECT * REPLACE ('plane' AS event,
          '{"a": 2}' AS properties) FROM (SELECT * FROM ${inDatabase(config)}
          WHERE event = 'plain')`,
      );
      await run(`DELETE FROM ${inDatabase(config)} WHERE event = 'plain'`);
    },
    missing: (config) =>
      run(
        `DELETE FROM ${inDatabase(config)} WHERE uuid = (SELECT min(uuid)
          FROM ${inDatabase(config)})`,
      ),
    added: (config) => run(`INSERT INTO ${inDatabase(config)} (uuid) VALUES (generateUUIDv4())`),
  },
  large_shown_by: 'file.test.ts',
  is_unordered: true,
  has_nul: true,
  recovers: true,
});
