import { byConnectionCode } from '../../platform/outbound/connection_faults.ts';
import { explain, lasting, passing, withFaults } from '../destination/faults.ts';
import type { Fault } from '../destination/faults.ts';

/**
 * What a server has of its own beside the faults of PostgreSQL; both come before those: first by
 * what it says, then by SQLSTATE or its class.
 */
export type OwnFaults = {
  by_message: readonly [RegExp, Fault][];
  by_code: Readonly<Record<string, Fault>>;
};

const unverified = lasting(
  'tls_not_verified',
  'The certificate of the server is not signed by an authority known here, or is for another ' +
    'host. Install a right one, or set has_self_signed_cert to true.',
);
const unreachable = passing(
  'connection_failed',
  'The server does not answer at this host and port. Check both, and that its firewall lets ' +
    'this server in.',
);

/**
 * By SQLSTATE or the error code of Node first, then by the class of the SQLSTATE (its first two
 * characters). `%` stands for what the server said.
 */
const faults: Record<string, Fault> = {
  ...byConnectionCode({
    host_not_found: lasting('host_not_found', 'There is no host of this name; check the key host.'),
    lookup_failed: passing('connection_failed', 'The host name could not be looked up just now.'),
    unreachable,
    broken: passing('connection_lost', 'The server closed the connection.'),
    tls_not_verified: unverified,
  }),
  OTHER_SERVER: lasting(
    'not_postgres',
    'What answers at this host and port is not PostgreSQL but %; check both.',
  ),
  UNHEARD: passing(
    'connection_failed',
    'The server took the connection and then said nothing. Check that host and port are those of ' +
      'PostgreSQL, and that the server is well.',
  ),
  CLOSED_UNHEARD: passing(
    'connection_lost',
    'The server took the connection and closed it without a word. Check that host and port are ' +
      'those of PostgreSQL (a port of HTTPS does this), and what lies between it and this server.',
  ),
  '28P01': lasting(
    'authentication_failed',
    'The server refused user or password; check the keys user and password.',
  ),
  '28000': lasting(
    'authentication_failed',
    'The server does not let this user in from here (%). Check the user and the rules in ' +
      'pg_hba.conf.',
  ),
  '3D000': lasting(
    'database_missing',
    'There is no database of this name; check the key database.',
  ),
  '3F000': lasting(
    'schema_missing',
    'There is no schema of this name; create it or check the key schema.',
  ),
  '42501': lasting(
    'permission_denied',
    'The user has not the rights it needs (%). Grant USAGE on the schema, and CREATE on it ' +
      'where the tables are to be created; INSERT and SELECT on the table and on ' +
      'sluice_receipts; for persons UPDATE on the table and TEMPORARY on the database.',
  ),
  '42P01': lasting('table_missing', 'The table or one that it needs is gone (%).'),
  '25006': passing(
    'read_only',
    'The server takes no writes just now; it is a standby or in recovery.',
  ),
  '55P03': passing(
    'locked',
    'Another delivery or session holds a lock on the table or on this delivery.',
  ),
  '55006': passing('locked', 'An object is in use by another session.'),
  '53100': passing(
    'disk_full',
    'The disk of the server is full; free some space. The run goes on by itself.',
  ),
  '53300': passing('too_many_connections', 'The server has no free connections.'),
  '57014': passing('cancelled_by_server', 'The server cancelled the statement (%).'),
  '22': lasting(
    'value_refused',
    'The table does not take a value (%). Change the type of the column, or leave the table ' +
      'to be created by the export.',
  ),
  '23': lasting(
    'constraint_violated',
    'A constraint of the table refuses rows (%). Remove it, or export to a table of its own.',
  ),
  '28': lasting(
    'authentication_failed',
    'The server refused the user (%). Correct user and password, and see that the server lets ' +
      'this user in.',
  ),
  '42': lasting(
    'statement_refused',
    'The server refused the statement (%). The table may not fit the export: compare its ' +
      'columns with those of the preview, or export to a table of its own.',
  ),
  '0A': lasting(
    'statement_refused',
    'The server does not support what the export needs (%). Export to a newer server, or to files.',
  ),
  '54': lasting(
    'limit_exceeded',
    'A row is larger than the server allows (%). Leave the large events out with ' +
      'exclude_events, or export to files.',
  ),
  '08': passing('connection_lost', 'The connection to the server broke.'),
  '40': passing(
    'conflict',
    'The server ended the transaction because of a conflict with another one.',
  ),
  '53': passing('out_of_resources', 'The server is short of resources (%).'),
  '57': passing('server_stopping', 'The server is stopping or starting.'),
  '58': passing('server_fault', 'The server reported a fault of its system (%).'),
  XX: passing('server_fault', 'The server reported an internal fault (%).'),
};

const by_message: [RegExp, Fault][] = [
  [
    /does not support SSL/,
    lasting(
      'tls_not_offered',
      'The server offers no TLS. Switch it on there, or, on a private network only, set ' +
        'require_tls to false.',
    ),
  ],
  [/timeout expired|Connection terminated due to connection timeout/, unreachable],
  [
    /Connection terminated|connection is closed|not queryable|Client was closed/,
    passing('connection_lost', 'The connection to the server broke.'),
  ],
  [
    /error establishing an SSL connection/,
    passing('server_stopping', 'The server can open no session just now; it tells why in its log.'),
  ],
];

const none: OwnFaults = { by_message: [], by_code: {} };

/**
 * A fault of the server or the way to it as an error that says what to do; others stay as they are.
 */
export function postgresError(error: unknown, own: OwnFaults = none): unknown {
  return explain(error, (known) => {
    const { code } = known as NodeJS.ErrnoException;
    const fault =
      saidFault(known, own.by_message) ??
      codedFault(code, own.by_code) ??
      codedFault(code, faults) ??
      saidFault(known, by_message);
    if (fault === undefined) return undefined;
    return { fault, said: known.message.replace(/\.$/, '') + columnOf(known) };
  });
}

/**
 * True of a CREATE TABLE IF NOT EXISTS that another session was faster with: the server then
 * reports a duplicate in its own catalogue.
 */
export function isThereAlready(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '42P07' || code === '23505';
}

/**
 * Of a value that does not fit COPY says the column only beside its message. The value itself stays
 * out.
 */
function columnOf(error: Error): string {
  const { where } = error as { where?: unknown };
  const name =
    typeof where === 'string'
      ? /^COPY [^\n]*?, line \d+, column ([^\n]+?)(?:: |$)/.exec(where)?.[1]
      : undefined;
  return name === undefined ? '' : `, column ${name}`;
}

function saidFault(error: Error, table: readonly [RegExp, Fault][]): Fault | undefined {
  return table.find(([pattern]) => pattern.test(error.message))?.[1];
}

/**
 * A DOMException's code is a number: 23, a time-out, must not pass for the class 23 of SQLSTATE.
 */
function codedFault(code: unknown, table: Readonly<Record<string, Fault>>): Fault | undefined {
  if (typeof code !== 'string') return undefined;
  return table[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? table[code.slice(0, 2)] : undefined);
}

/** Runs `work` and throws what `postgresError` makes of its errors. */
export function withPostgresErrors<Result>(
  work: () => Promise<Result>,
  own: OwnFaults = none,
): Promise<Result> {
  return withFaults((error) => postgresError(error, own), work);
}
