import { openBigQueryServer } from '../../../../test/servers/bigquery/server.ts';
import type { BigQueryServer } from '../../../../test/servers/bigquery/server.ts';
import type { Row } from '../../../../test/servers/bigquery/tables.ts';
import { parseExact } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { bigquery } from './bigquery.ts';
import type { BigQueryConfig } from './config.ts';
import { other_keys } from '../../../../test/factories/people/rsa_keys.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
let server: BigQueryServer;
let places = 0;

function freshConfig(): BigQueryConfig {
  const dataset_id = `place_${(places += 1)}`;
  server.tables(dataset_id);
  return { ...server.account, dataset_id };
}

const tablesOf = (config: Config) => server.tables(String(config['dataset_id']));
const rowsOf = (config: Config, table = 'events'): Row[] => tablesOf(config).get(table)?.rows ?? [];

testDestination({
  definition: bigquery,
  start: async () => {
    server = await openBigQueryServer();
    return {
      log: silentLog(),
      outbound: server.reroute(outbound),
      export_dir: '/nowhere',
      signal: new AbortController().signal,
    };
  },
  stop: async () => {
    await server.close();
    await outbound.close();
  },
  configure: async () => freshConfig(),
  readBack: async (config) =>
    rowsOf(config).map((row) => ({
      ...row,
      properties: parseExact(String(row['properties'])),
      amount: String(row['amount']),
    })),
  leftovers: async (config) =>
    [...tablesOf(config).keys()].filter((name) => !['events', 'sluice_receipts'].includes(name)),
  misconfigure: async (config) => {
    tablesOf(config).set('other', {
      type: 'TABLE',
      fields: [{ name: 'uuid', type: 'STRING' }],
      rows: [],
      made_with: {},
    });
    tablesOf(config).set('view', { type: 'VIEW', fields: [], rows: [], made_with: {} });
    return [
      {
        name: 'key of another account',
        change: { private_key: other_keys.private_pem },
        code: 'authentication_failed',
      },
      {
        name: 'unknown account',
        change: { client_email: 'x@y.example' },
        code: 'authentication_failed',
      },
      {
        name: 'no such project',
        change: { project_id: 'other-project' },
        code: 'database_missing',
      },
      { name: 'no such dataset', change: { dataset_id: 'nothing' }, code: 'schema_missing' },
      {
        name: 'no such token service',
        change: { token_uri: 'https://no-such-host.invalid/token' },
        code: 'host_not_found',
      },
      {
        name: 'token service at a private address',
        change: { token_uri: 'https://169.254.169.254/token' },
        code: 'outbound_refused',
      },
      { name: 'missing columns', change: { table_id: 'other' }, code: 'columns_missing' },
      { name: 'a view', change: { table_id: 'view' }, code: 'table_unsuitable' },
    ];
  },
  invalid: [
    { name: 'a name of a project', change: { project_id: 'My Project' } },
    { name: 'dataset with project', change: { dataset_id: 'test-project.events' } },
    { name: 'table with backtick', change: { table_id: 'a`b' } },
    { name: 'table with dataset', change: { table_id: 'a.b' } },
    { name: 'table of receipts', change: { table_id: 'Sluice_Receipts' } },
    { name: 'table of stages', change: { table_id: 'sluice_stage_x' } },
    { name: 'half a key', change: { private_key: '-----BEGIN PRIVATE KEY-----' } },
    {
      name: 'token service without TLS',
      change: { token_uri: 'http://oauth2.googleapis.com/token' },
    },
    {
      name: 'token service with a password',
      change: { token_uri: 'https://user:word@example.com/' },
    },
    { name: 'token service is no address', change: { token_uri: 'file:///etc/passwd' } },
    { name: 'account is no address', change: { client_email: 'exports' } },
  ],
  damage: {
    changed: async (config) => void rowsOf(config).push({ ...rowsOf(config)[0]! }),
    value: async (config) => {
      const row = rowsOf(config).find(({ event }) => event === 'plain')!;
      Object.assign(row, { event: 'plane', properties: '{"a": 2}' });
    },
    missing: async (config) => void rowsOf(config).shift(),
    added: async (config) => void rowsOf(config).push({ ...rowsOf(config)[0]!, uuid: 'stranger' }),
  },
  has_nul: true,
  recovers: true,
});
