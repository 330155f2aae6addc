import { openPostgresServer } from '../servers/databases/postgres_destination.ts';
import type { PostgresServer } from '../servers/databases/postgres_destination.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { Ending, FaultCase, OpenFaults, Scene } from './matrix.ts';
import { eventually } from '../eventually.ts';
import { impatient } from './matrix.ts';

/** The table as an export creates it, for faults that need one beforehand. */
const columns =
  'uuid text, event text, properties jsonb, elements jsonb, "set" jsonb, set_once jsonb, ' +
  'distinct_id text, team_id bigint, ip text, site_url text, "timestamp" timestamptz, ' +
  'inserted_at timestamptz';

type Place = { config: { schema: string }; table: string };

/** Faults of a PostgreSQL that is closed with `close`. */
export async function openPostgresFaults(): Promise<OpenFaults> {
  const server = await openPostgresServer();
  const plain = await openPostgresProxy(server.socket_path, { tls: false });
  const cases: FaultCase[] = [
    configured(server, 'the wrong password', 'authentication_failed', {
      password: 'wrong-password',
    }),
    configured(server, 'no such user', 'authentication_failed', { user: 'nobody' }),
    configured(server, 'no such database', 'database_missing', { database: 'nothing' }),
    configured(server, 'no such schema', 'schema_missing', { schema: 'nothing' }),
    configured(server, 'no such host', 'host_not_found', { host: 'no-such-host.invalid' }),
    configured(server, 'an address that is not public', 'outbound_refused', { host: '10.0.0.1' }),
    configured(server, 'TLS is not offered', 'tls_not_offered', { port: plain.port }),
    configured(server, 'the certificate is not verified', 'tls_not_verified', {
      has_self_signed_cert: false,
    }),
    ...tableFaults(server),
    raised(server, 'the disk is full', '53100', 'disk_full', 'tried again'),
    raised(server, 'a lock is not given in time', '55P03', 'locked', 'tried again'),
    raised(server, 'a deadlock', '40P01', 'conflict', 'tried again'),
    raised(server, 'no right to the table', '42501', 'permission_denied', 'Failed'),
    raised(server, 'it has no memory left', '53200', 'out_of_resources', 'tried again'),
    ...breakOffs(server),
    silent(server),
  ];
  return { cases, close: () => plain.close().then(() => server.close()) };
}

function tableFaults(server: PostgresServer): FaultCase[] {
  return [
    prepared(server, 'the table lacks a column', 'columns_missing', 'Failed', ({ table }) => [
      `CREATE TABLE ${table} (uuid text)`,
      `DROP TABLE ${table}`,
    ]),
    prepared(server, 'a column is of another type', 'value_refused', 'Failed', ({ table }) => [
      `CREATE TABLE ${table} (${columns.replace('event text', 'event integer')})`,
      `DROP TABLE ${table}`,
    ]),
    prepared(
      server,
      'a unique index refuses the rows',
      'constraint_violated',
      'Failed',
      ({ table }) => [
        `CREATE TABLE ${table} (${columns}); CREATE UNIQUE INDEX ON ${table} (event)`,
        `DROP TABLE ${table}`,
      ],
    ),
    prepared(server, 'a trigger drops a row', 'rows_left_out', 'Failed', (place) =>
      dropping(place),
    ),
  ];
}

function breakOffs(server: PostgresServer): FaultCase[] {
  return [
    prepared(
      server,
      'an administrator ends the session in the middle of COPY',
      'server_stopping',
      'tried again',
      (place) => triggered(place, 'PERFORM pg_terminate_backend(pg_backend_pid());'),
    ),
    lost(
      server,
      'the connection breaks in the middle of COPY',
      'connection_lost',
      'tried again',
      async () => server.proxy.cut(),
    ),
    lost(
      server,
      'the run is cancelled in the middle of COPY',
      'cancelled',
      'Cancelled',
      async () => 'cancelled' as const,
    ),
  ];
}

async function placeOn(server: PostgresServer): Promise<Place> {
  const config = await server.freshConfig();
  return { config, table: `${config.schema}.events` };
}

async function count({ pool }: PostgresServer, { table }: Place): Promise<number> {
  const found = await pool.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [table],
  );
  return found.rows[0]!.there
    ? (await pool.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`)).rows[0]!
        .rows
    : 0;
}

function configured(
  server: PostgresServer,
  fault: string,
  code: string,
  changes: Record<string, unknown>,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const place = await placeOn(server);
    return {
      config: { ...place.config, ...changes },
      visible: () => count(server, place),
      is_lasting: true,
    };
  };
  return { destination: 'Postgres', fault, code, ending: 'Failed', prepare };
}

/** `statements` returns the statements that cause the fault, and those that end it. */
function prepared(
  server: PostgresServer,
  fault: string,
  code: string,
  ending: Ending,
  statements: (place: Place) => [string, string],
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const place = await placeOn(server);
    const [strike, lift] = statements(place);
    return {
      config: place.config,
      visible: () => count(server, place),
      strike: async () => void (await server.pool.query(strike)),
      lift: async () => void (await server.pool.query(lift)),
    };
  };
  return { destination: 'Postgres', fault, code, ending, prepare };
}

function raised(
  server: PostgresServer,
  fault: string,
  sql_state: string,
  code: string,
  ending: Ending,
): FaultCase {
  return prepared(server, fault, code, ending, (place) =>
    triggered(place, `RAISE EXCEPTION 'said by a test' USING ERRCODE = '${sql_state}';`),
  );
}

/** The server runs the statement with the first row. */
function triggered({ config, table }: Place, statement: string, result = 'NEW'): [string, string] {
  const name = `${config.schema}.strike`;
  return [
    `CREATE TABLE ${table} (${columns});
     CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement} RETURN
       ${result}; END $$;
     CREATE TRIGGER strike BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
    `DROP TRIGGER strike ON ${table}`,
  ];
}

function dropping(place: Place): [string, string] {
  return triggered(
    place,
    `IF to_char(NEW."timestamp" AT TIME ZONE 'UTC', 'MI') = '11' THEN RETURN NULL; END IF;`,
  );
}

/**
 * Creates a case in which a trigger sleeps longer than any limit. The attempt leaves nothing on the
 * server: the next one does not meet its locks.
 */
function silent(server: PostgresServer): FaultCase {
  const sleeping = prepared(server, '', '', 'tried again', (place) =>
    triggered(place, 'PERFORM pg_sleep(600);'),
  );
  return impatient('Postgres', sleeping.prepare);
}

/** COPY is stopped at its first row, then the fault happens. */
function lost(
  server: PostgresServer,
  fault: string,
  code: string,
  ending: Ending,
  happens: () => Promise<'cancelled' | void>,
): FaultCase {
  const stopped = prepared(server, fault, code, ending, (place) =>
    triggered(place, 'PERFORM pg_sleep(0.5);'),
  );
  const isCopying = async () => {
    const found = await server.pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'COPY%'",
    );
    return found.rowCount === 1;
  };
  const prepare = async (): Promise<Scene> => {
    const scene = await stopped.prepare();
    return {
      ...scene,
      meanwhile: async () => {
        await eventually('it has never come to the fault', isCopying);
        return happens();
      },
      // The server notices a lost client once it has the rows; until then the session holds the
      // table.
      lift: async (run) => {
        await eventually('it has never come to the fault', async () => !(await isCopying()));
        await scene.lift?.(run);
      },
    };
  };
  return { ...stopped, prepare };
}
