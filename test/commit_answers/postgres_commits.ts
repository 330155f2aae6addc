import { openTestStores } from '../harness_stores.ts';
import { accessTo, poolOf, socketOf } from '../servers/databases/embedded_postgres.ts';
import { createRedshift, openRedshiftServer } from '../servers/databases/redshift_server.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { PostgresRefusal } from '../servers/databases/postgres_proxy.ts';
import type { CommitFault } from '../servers/databases/commit_faults.ts';
import { records } from './commits.ts';
import type { CommitCase, CommitScene } from './commits.ts';
import { delivered, refused, struckCases, uncertain } from './struck_commits.ts';
import type { Expected } from './struck_commits.ts';

type Fault = CommitFault<PostgresRefusal>;
type World = {
  place(): Promise<CommitScene & { table: string }>;
  run(text: string): Promise<void>;
};

/** Errors of the server's deferred triggers, on the real connection. */
const raised: [sql_state: string, Expected][] = [
  ['23514', refused('Failed', 'constraint_violated')],
  ['P0001', refused('Failed', 'constraint_violated')],
  ['22012', refused('Failed', 'value_refused')],
  ['42501', refused('Failed', 'permission_denied')],
  ['54000', refused('Failed', 'limit_exceeded')],
  ['0A000', refused('Failed', 'statement_refused')],
  ['57014', refused('FailedRetryable', 'cancelled_by_server')],
  ['40001', refused('FailedRetryable', 'conflict')],
  ['53200', refused('FailedRetryable', 'out_of_resources')],
  ['XX000', refused('FailedRetryable', 'server_fault')],
];

const said = (severity: string, code: string): PostgresRefusal => ({
  severity,
  code,
  message: 'said by a test',
});

/** Faults between the server and Sluice. */
const struck: [answer: string, Fault, Expected][] = [
  [
    'ERROR P0001 in another language',
    { reaches: false, answer: said('FEHLER', 'P0001') },
    refused('Failed', 'constraint_violated'),
  ],
  [
    'FATAL 57P01',
    { reaches: false, answer: said('FATAL', '57P01') },
    refused('FailedRetryable', 'server_stopping'),
  ],
  ['FATAL 57P01', { reaches: true, answer: said('FATAL', '57P01') }, delivered],
  [
    'ERROR 08P01 of a pooler',
    { reaches: false, answer: said('ERROR', '08P01') },
    refused('FailedRetryable', 'connection_lost'),
  ],
  ['ERROR 08P01 of a pooler', { reaches: true, answer: said('ERROR', '08P01') }, delivered],
  ['ERROR 40003', { reaches: true, answer: said('ERROR', '40003') }, delivered],
  [
    'none, the connection breaks',
    { reaches: false, answer: 'cut' },
    refused('FailedRetryable', 'connection_lost'),
  ],
  ['none, the connection breaks', { reaches: true, answer: 'cut' }, delivered],
  [
    'none, and silence',
    { reaches: false, answer: 'nothing' },
    refused('FailedRetryable', 'timed_out'),
  ],
  ['none, and silence', { reaches: true, answer: 'nothing' }, delivered],
];

/** The server does not answer afterwards. */
const away: [answer: string, Fault, Expected][] = [
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

/** Commits to a PostgreSQL. */
export async function openPostgresCommits() {
  const { world, proxy, close } = await openWorld('Postgres');
  const cases = [
    ...raisedCases('Postgres', world),
    ...struckCases('Postgres', world.place, proxy.commits.strike, [...struck, ...away]),
  ];
  return { cases, close };
}

/**
 * Redshift cannot fence an attempt that was believed dead, so a missing receipt leaves the outcome
 * uncertain.
 */
export async function openRedshiftCommits() {
  const { world, proxy, close } = await openWorld('Redshift');
  const open: [string, Fault, Expected][] = struck.map(([answer, fault, expected]) =>
    expected.ledger === 'delivered' || answer.includes('language')
      ? [answer, fault, expected]
      : [answer, fault, { ...expected, ledger: 'uncertain' }],
  );
  const cases = [
    ...raisedCases('Redshift', world),
    ...struckCases('Redshift', world.place, proxy.commits.strike, [...open, ...away]),
  ];
  return { cases, close };
}

/** Creates a place for each case, behind a proxy that can disturb commits. */
async function openWorld(type: 'Postgres' | 'Redshift') {
  const stores = await openTestStores({ clickhouse: false });
  const pool = poolOf(stores.database_url);
  const isRedshift = type === 'Redshift';
  const proxy = await openPostgresProxy(socketOf(stores.database_url), { tls: !isRedshift });
  if (isRedshift) await createRedshift(pool);
  const redshift = isRedshift ? await openRedshiftServer(proxy.port) : undefined;
  let places = 0;
  const world: World = {
    run: async (text) => void (await pool.query(text)),
    place: async () => {
      const table = `place_${(places += 1)}`;
      const visible = async () => {
        const there = await pool.query(`SELECT to_regclass('public.${table}') AS there`);
        if (there.rows[0].there === null) return 0;
        return Number((await pool.query(`SELECT count(*) FROM ${table}`)).rows[0].count);
      };
      const config = {
        ...accessTo(stores.database_url, redshift?.port ?? proxy.port),
        schema: 'public',
        table_name: table,
      };
      return { config, table, visible, strike: async () => {}, lift: async () => {} };
    },
  };
  const close = async () => {
    await pool.end();
    await redshift?.close();
    await proxy.close();
    await stores.close();
  };
  return { world, proxy, close };
}

function raisedCases(destination: string, world: World): CommitCase[] {
  return raised.map(([sql_state, expected]) => ({
    destination,
    answer: `ERROR ${sql_state}`,
    server: 'rolled back',
    backfill: records,
    ...expected,
    prepare: async () => {
      const { table, ...place } = await world.place();
      const lift = () => world.run(`DROP TRIGGER refuse ON ${table}`);
      return { ...place, strike: () => world.run(refusing(table, sql_state)), lift };
    },
  }));
}

function refusing(table: string, sql_state: string): string {
  return `CREATE TABLE ${table} (uuid varchar, event varchar, properties varchar, elements varchar,
      "set" varchar, set_once varchar, distinct_id varchar, team_id bigint, ip varchar,
      site_url varchar, "timestamp" timestamp, inserted_at timestamp);
    CREATE FUNCTION refuse_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'said by a test' USING ERRCODE = '${sql_state}'; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse_${table}()`;
}
