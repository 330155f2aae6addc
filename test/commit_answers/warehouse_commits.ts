import tls from 'node:tls';
import type { Engine } from '../../server/engine/exports/engine.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openTestStores } from '../harness_stores.ts';
import { openBigQueryServer } from '../servers/bigquery/server.ts';
import { certificate } from '../servers/certificate.ts';
import { poolOf } from '../servers/databases/embedded_postgres.ts';
import { openSnowflakeServer } from '../servers/snowflake/server.ts';
import type { SnowflakeFault } from '../servers/snowflake/state.ts';
import { delivered, refused, struckCases } from './struck_commits.ts';
import type { Expected } from './struck_commits.ts';

type Struck<Answer> = { reaches: boolean; answer: Answer };

const said = (code: string, sql_state: string, is_after?: true): SnowflakeFault => ({
  code,
  sql_state,
  message: 'said by a test',
  ...(is_after === true ? { is_after } : {}),
});

const snowflake_faults: [answer: string, Struck<SnowflakeFault>, Expected][] = [
  [
    'error 000604 (cancelled)',
    { reaches: false, answer: said('000604', '57014') },
    refused('FailedRetryable', 'cancelled_by_server'),
  ],
  [
    'error 000625 (lock timeout)',
    { reaches: false, answer: said('000625', '57014') },
    refused('FailedRetryable', 'locked'),
  ],
  [
    'error 003001 (no right)',
    { reaches: false, answer: said('003001', '42501') },
    refused('Failed', 'permission_denied'),
  ],
  ['error 000604 (cancelled)', { reaches: true, answer: said('000604', '57014', true) }, delivered],
  [
    'none, and silence',
    { reaches: false, answer: 'hang' },
    refused('FailedRetryable', 'timed_out'),
  ],
  ['none, the connection breaks again and again', { reaches: true, answer: 'after' }, delivered],
];

/** Commits to a Snowflake account. */
export async function openSnowflakeCommits() {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate]);
  const stores = await openTestStores({ clickhouse: false });
  const pool = poolOf(stores.database_url);
  const server = await openSnowflakeServer(stores.database_url);
  const outbound = openOutbound({ allow: ['127.0.0.0/8', '::1'] });
  let places = 0;
  const place = async () => {
    const schema = `commits_${(places += 1)}`;
    await pool.query(`CREATE SCHEMA ${schema}`);
    const visible = async () => {
      const there = await pool.query(`SELECT to_regclass('${schema}.events') AS there`);
      if (there.rows[0].there === null) return 0;
      return Number((await pool.query(`SELECT count(*) FROM ${schema}.events`)).rows[0].count);
    };
    const engine = (given: Engine): Engine => ({ ...given, outbound });
    return { config: server.config(schema), visible, engine };
  };
  const strike = (fault: Struck<SnowflakeFault> | undefined) =>
    fault === undefined ? server.recover() : server.fail(/^COMMIT/, fault.answer, 100);
  const close = async () => {
    await server.close();
    await pool.end();
    await outbound.close();
    await stores.close();
  };
  return { cases: struckCases('Snowflake', place, strike, snowflake_faults), close };
}

/** The reason of a failed job, or the fate of its request. */
type JobAnswer = { reason: string } | 'hang';

const bigquery_faults: [answer: string, Struck<JobAnswer>, Expected][] = [
  [
    'the job failed: accessDenied',
    { reaches: false, answer: { reason: 'accessDenied' } },
    refused('Failed', 'permission_denied'),
  ],
  [
    'the job failed: invalidQuery',
    { reaches: false, answer: { reason: 'invalidQuery' } },
    refused('Failed', 'statement_refused'),
  ],
  [
    'the job failed: backendError',
    { reaches: false, answer: { reason: 'backendError' } },
    refused('FailedRetryable', 'server_fault'),
  ],
  [
    'the job failed: backendError',
    { reaches: true, answer: { reason: 'backendError' } },
    delivered,
  ],
  [
    'the job goes on and on',
    { reaches: false, answer: 'hang' },
    refused('FailedRetryable', 'timed_out'),
  ],
];

/** Commits to a BigQuery project. */
export async function openBigQueryCommits() {
  const server = await openBigQueryServer();
  let places = 0;
  const place = async () => {
    const dataset_id = `commits_${(places += 1)}`;
    server.tables(dataset_id);
    return {
      config: { ...server.account, dataset_id },
      visible: async () => server.tables(dataset_id).get('events')?.rows.length ?? 0,
      engine: (given: Engine): Engine => ({ ...given, outbound: server.reroute(given.outbound) }),
    };
  };
  const script = /^sluice_commit_/;
  const strike = (fault: Struck<JobAnswer> | undefined) => {
    if (fault === undefined) return;
    const { reaches, answer } = fault;
    if (answer === 'hang') server.jobs.holdNext(script);
    else server.jobs.failNext(script, answer.reason, 'Said by a test.', reaches);
  };
  const cases = struckCases('BigQuery', place, strike, bigquery_faults);
  return { cases, close: () => server.close() };
}
