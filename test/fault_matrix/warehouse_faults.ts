import tls from 'node:tls';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openBigQueryServer } from '../servers/bigquery/server.ts';
import type { BigQueryServer } from '../servers/bigquery/server.ts';
import { openTestStores } from '../harness_stores.ts';
import { certificate } from '../servers/certificate.ts';
import { poolOf } from '../servers/databases/embedded_postgres.ts';
import { openSnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeFault } from '../servers/snowflake/state.ts';
import { configured } from './database_faults.ts';
import { impatient } from './matrix.ts';
import type { Ending, FaultCase, OpenFaults, Scene } from './matrix.ts';

let places = 0;

/** Faults of a Snowflake account. */
export async function openSnowflakeFaults(): Promise<OpenFaults> {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const stores = await openTestStores({ clickhouse: false });
  const pool = poolOf(stores.database_url);
  const server = await openSnowflakeServer(stores.database_url);
  const outbound = openOutbound({ allow: ['127.0.0.0/8', '::1'] });
  const place = async (): Promise<Scene> => {
    const schema = `faults_${(places += 1)}`;
    await pool.query(`CREATE SCHEMA ${schema}`);
    const isThere = async () =>
      (await pool.query(`SELECT to_regclass('${schema}.events') IS NOT NULL AS there`)).rows[0]
        .there as boolean;
    return {
      config: server.config(schema),
      visible: async () =>
        (await isThere())
          ? ((await pool.query(`SELECT count(*)::int AS rows FROM ${schema}.events`)).rows[0]
              .rows as number)
          : 0,
      engine: (engine) => ({ ...engine, outbound }),
    };
  };
  return {
    cases: snowflakeCases(server, place),
    close: async () => {
      await server.close();
      await pool.end();
      await outbound.close();
      await stores.close();
    },
  };
}

function snowflakeCases(server: SnowflakeServer, place: () => Promise<Scene>): FaultCase[] {
  const refused = (
    fault: string,
    pattern: RegExp,
    answer: SnowflakeFault,
    code: string,
    ending: Ending,
  ): FaultCase => ({
    destination: 'Snowflake',
    fault,
    code,
    ending,
    prepare: async () => ({
      ...(await place()),
      strike: async () => server.fail(pattern, answer, 2),
      lift: async () => server.recover(),
    }),
  });
  return [
    ...configured('Snowflake', place, [
      ['the wrong password', 'authentication_failed', { password: 'wrong-password' }],
      ['no such warehouse', 'warehouse_missing', { warehouse: 'nothing' }],
      ['no such schema', 'schema_missing', { schema: 'nothing' }],
    ]),
    refused(
      'the warehouse is suspended',
      /^COPY/,
      { code: '000606', sql_state: '57P03', message: 'No active warehouse selected.' },
      'warehouse_unavailable',
      'tried again',
    ),
    refused(
      'no right to create the table',
      /^CREATE TABLE/,
      { code: '003001', sql_state: '42501', message: 'Insufficient privileges.' },
      'permission_denied',
      'Failed',
    ),
    refused('the login breaks off', /LOGIN/, 'drop', 'connection_lost', 'tried again'),
    impatient('Snowflake', async () => ({
      ...(await place()),
      strike: async () => server.fail(/^COPY/, 'hang'),
      lift: async () => server.recover(),
    })),
  ];
}

/** Faults of a BigQuery project. */
export async function openBigQueryFaults(): Promise<OpenFaults> {
  const server = await openBigQueryServer();
  const place = async (): Promise<Scene> => {
    const dataset_id = `faults_${(places += 1)}`;
    server.tables(dataset_id);
    return {
      config: { ...server.account, dataset_id },
      visible: async () => server.tables(dataset_id).get('events')?.rows.length ?? 0,
      engine: (engine) => ({ ...engine, outbound: server.reroute(engine.outbound) }),
    };
  };
  return { cases: bigQueryCases(server, place), close: () => server.close() };
}

function bigQueryCases(server: BigQueryServer, place: () => Promise<Scene>): FaultCase[] {
  const refused = (
    fault: string,
    reason: string,
    message: string,
    code: string,
    ending: Ending,
  ): FaultCase => ({
    destination: 'BigQuery',
    fault,
    code,
    ending,
    prepare: async () => ({
      ...(await place()),
      strike: async () => server.jobs.failNext(/^load_/, reason, message),
    }),
  });
  return [
    ...configured('BigQuery', place, [
      ['no such dataset', 'schema_missing', { dataset_id: 'nothing' }],
      ['an unknown account', 'authentication_failed', { client_email: 'x@y.example' }],
    ]),
    refused(
      'a quota is used up',
      'quotaExceeded',
      'Quota exceeded: imports per project.',
      'throttled',
      'tried again',
    ),
    refused(
      'no right to write',
      'accessDenied',
      'Access Denied: bigquery.tables.updateData',
      'permission_denied',
      'Failed',
    ),
    refused(
      'a value is refused',
      'invalid',
      'Error while reading data, error message: bad value in column uuid',
      'value_refused',
      'Failed',
    ),
    refused(
      'it fails by itself',
      'backendError',
      'Error encountered during execution.',
      'server_fault',
      'tried again',
    ),
    impatient('BigQuery', async () => ({
      ...(await place()),
      strike: async () => server.jobs.holdNext(/^load_/),
    })),
  ];
}
