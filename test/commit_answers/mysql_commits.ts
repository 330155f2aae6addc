import { mariaDbMissing, openMariaDb } from '../servers/databases/mariadb_server.ts';
import { openMySqlProxy } from '../servers/databases/mysql_proxy.ts';
import type { MySqlRefusal } from '../servers/databases/mysql_proxy.ts';
import type { CommitFault } from '../servers/databases/commit_faults.ts';
import { delivered, refused, struckCases, uncertain } from './struck_commits.ts';
import type { Expected } from './struck_commits.ts';

type Fault = CommitFault<MySqlRefusal>;

const said = (errno: number, sql_state: string, ends?: true): MySqlRefusal => ({
  errno,
  sql_state,
  message: 'said by a test',
  ...(ends === true ? { ends } : {}),
});

const lost = refused('FailedRetryable', 'connection_lost');

const faults: [answer: string, Fault, Expected][] = [
  [
    'error 1213 (deadlock)',
    { reaches: false, answer: said(1213, '40001') },
    refused('FailedRetryable', 'conflict'),
  ],
  [
    'error 1205 (lock wait timeout)',
    { reaches: false, answer: said(1205, 'HY000') },
    refused('FailedRetryable', 'locked'),
  ],
  [
    'error 1290 (read only)',
    { reaches: false, answer: said(1290, 'HY000') },
    refused('FailedRetryable', 'read_only'),
  ],
  [
    'error 1197 (transaction too large)',
    { reaches: false, answer: said(1197, 'HY000') },
    refused('Failed', 'limit_exceeded'),
  ],
  [
    'error 3101 (rolled back by a plugin)',
    { reaches: false, answer: said(3101, 'HY000') },
    refused('FailedRetryable', 'server_fault'),
  ],
  [
    'error 1180 (during the commit)',
    { reaches: false, answer: said(1180, 'HY000') },
    refused('FailedRetryable', 'server_fault'),
  ],
  ['error 1180 (during the commit)', { reaches: true, answer: said(1180, 'HY000') }, delivered],
  [
    'error 1053 (shutdown)',
    { reaches: false, answer: said(1053, '08S01', true) },
    refused('FailedRetryable', 'server_stopping'),
  ],
  ['error 1053 (shutdown)', { reaches: true, answer: said(1053, '08S01', true) }, delivered],
  ['none, the connection breaks', { reaches: false, answer: 'cut' }, lost],
  ['none, the connection breaks', { reaches: true, answer: 'cut' }, delivered],
  [
    'none, and silence',
    { reaches: false, answer: 'nothing' },
    refused('FailedRetryable', 'timed_out'),
  ],
  ['none, and silence', { reaches: true, answer: 'nothing' }, delivered],
  [
    'none, and the server is away',
    { reaches: false, answer: 'cut', away: true },
    uncertain('connection_lost'),
  ],
  [
    'none, and the server is away',
    { reaches: true, answer: 'cut', away: true },
    uncertain('connection_lost'),
  ],
];

/** Commits to a MariaDB; none if it is not installed. */
export async function openMySqlCommits() {
  if (mariaDbMissing !== undefined) return { cases: [], close: async () => {} };
  const server = await openMariaDb();
  const admin = await server.admin();
  await admin.query('CREATE DATABASE commits');
  const proxy = await openMySqlProxy(server.port, { tls: false });
  let places = 0;
  const place = async () => {
    const table_name = `place_${(places += 1)}`;
    const count = async (query: string) =>
      ((await admin.query(query))[0] as { found: number }[])[0]!.found;
    const visible = async () => {
      const there = await count(
        `SELECT count(*) AS found FROM information_schema.TABLES
          WHERE TABLE_SCHEMA = 'commits' AND TABLE_NAME = '${table_name}'`,
      );
      return there === 0 ? 0 : count(`SELECT count(*) AS found FROM commits.${table_name}`);
    };
    const { user, password } = server;
    const { port } = proxy;
    const to = { host: '127.0.0.1', port, database: 'commits', table_name };
    return { config: { user, password, ...to, require_tls: false }, visible };
  };
  const close = async () => {
    await admin.end();
    await proxy.close();
    await server.close();
  };
  return { cases: struckCases('MySQL', place, proxy.commits.strike, faults), close };
}
