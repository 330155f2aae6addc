import { byConnectionCode } from '../../../../platform/outbound/connection_faults.ts';
import { explain, lasting, ofRow, passing } from '../../../model/destination/faults.ts';
import type { Fault } from '../../../model/destination/faults.ts';
import { server_faults } from '../server_faults.ts';

/**
 * A server's own faults; they precede those of PostgreSQL: first by message, then by SQLSTATE or
 * its class.
 */
export type OwnFaults = {
  by_message: readonly [RegExp, Fault][];
  by_code: Readonly<Record<string, Fault>>;
};

const { unreachable, unverified } = server_faults;
const encoding = ofRow(
  'value_refused',
  'The encoding of the database lacks a character (%). Export to a database in UTF8, or set such ' +
    'rows aside with rejected_rows.',
);

function lacking(rights: string): Fault {
  return lasting('permission_denied', `The user lacks a right (%). Grant it ${rights}.`);
}

/**
 * By SQLSTATE or the error code of Node first, then by the class of the SQLSTATE (its first two
 * characters). `%` stands for the server's message.
 */
const faults: Record<string, Fault> = {
  ...byConnectionCode({
    host_not_found: server_faults.host_unknown,
    lookup_failed: server_faults.lookup_failed,
    unreachable,
    broken: passing('connection_lost', 'The server closed the connection.'),
    tls_not_verified: unverified,
  }),
  OTHER_SERVER: lasting(
    'not_postgres',
    'The server at this host and port is not PostgreSQL but %; check both.',
  ),
  UNHEARD: passing(
    'connection_failed',
    'The server accepted the connection and sent nothing. Check host and port, and that the ' +
      'server works.',
  ),
  CLOSED_UNHEARD: passing(
    'connection_lost',
    'The server accepted the connection and closed it without an answer. Check host and port ' +
      '(an HTTPS port does this), and the network between PostgreSQL and this server.',
  ),
  '28P01': lasting(
    'authentication_failed',
    'The server refused the user or the password. Check user and password.',
  ),
  '28000': lasting(
    'authentication_failed',
    'The server does not let this user in from here (%). Check the user and the rules in ' +
      'pg_hba.conf.',
  ),
  '3D000': server_faults.database_missing,
  '3F000': lasting(
    'schema_missing',
    'The schema does not exist; create it or check the key schema.',
  ),
  '42501': lasting(
    'permission_denied',
    'The user lacks a right (%). Grant CONNECT on the database; USAGE on the ' +
      'schema, and CREATE on it where the tables are to be created; INSERT and SELECT on the ' +
      'table and on sluice_receipts; for merged rows UPDATE on the table and TEMPORARY on the ' +
      'database; to replace the table DELETE on both.',
  ),
  '42P01': server_faults.table_missing,
  '25006': passing(
    'read_only',
    'The server accepts no writes now (%). It is a standby or in recovery, or its database or ' +
      'this user is read-only. Hosts set this when a disk is nearly full.',
  ),
  '55P03': passing(
    'locked',
    'Another delivery or session holds a lock on the table or on this delivery.',
  ),
  '55006': passing('locked', 'An object is in use by another session.'),
  '57P01': passing(
    'server_stopping',
    'The server ended the session: it is stopping, or an administrator ended it.',
  ),
  '53100': server_faults.disk_full,
  '53300': server_faults.crowded,
  '57014': server_faults.cancelled,
  '22001': server_faults.value,
  '22003': server_faults.value,
  '22007': server_faults.value,
  '22008': server_faults.value,
  '22P02': server_faults.value,
  '22P03': server_faults.value,
  '22P05': encoding,
  '22021': encoding,
  '22': server_faults.row,
  P0: server_faults.trigger,
  '23': server_faults.constraint,
  '28': lasting(
    'authentication_failed',
    'The server refused the user (%). Correct the user and the password, and check that the ' +
      'server lets this user in.',
  ),
  '44000': server_faults.constraint,
  '42': server_faults.statement,
  '0A': lasting(
    'statement_refused',
    'The server does not support this here (%). Export to a separate table, or to files.',
  ),
  '54': server_faults.limit,
  '08P01': passing(
    'connection_lost',
    'The server, or a pooler before it, refused the request (%).',
  ),
  '08': passing('connection_lost', 'The connection to the server broke (%).'),
  '40002': server_faults.constraint,
  '40': server_faults.conflict,
  '53': server_faults.short,
  '57P02': server_faults.stopping,
  '57P03': server_faults.stopping,
  '57': passing('server_stopping', 'The server ended the session (%).'),
  '58': passing('server_fault', 'The server reported a system error (%).'),
  XX: passing('server_fault', 'The server reported an internal fault (%).'),
};

/** Messages that say more than their code. */
const by_words: [RegExp, Fault][] = [
  [
    /^permission denied for (?:table|relation|view) /,
    lacking(
      'INSERT and SELECT on the table and on sluice_receipts. To merge rows it needs UPDATE on ' +
        'the table, to replace the table DELETE on both',
    ),
  ],
  [
    /^permission denied for schema /,
    lacking('USAGE on the schema, and CREATE on it if Sluice is to create the tables'),
  ],
  [
    /^permission denied (?:for database |to create temporary tables)/,
    lacking('CONNECT on the database. To merge rows it needs TEMPORARY there'),
  ],
  [
    /transaction blocks not allowed in statement pooling mode/,
    lasting(
      'statement_refused',
      'A pooler before the server gives each statement another session (%), and a delivery is ' +
        'one transaction. Set pool_mode = transaction or session for this database, or set host ' +
        'and port to those of the server itself.',
    ),
  ],
  [
    /COPY FROM not supported with row-level security/,
    lasting(
      'permission_denied',
      'Row-level security applies to this user, and PostgreSQL takes no COPY then (%). Make the ' +
        'user the owner of the table, or let it bypass the policies: ALTER ROLE ... BYPASSRLS.',
    ),
  ],
  [
    /violates row-level security policy/,
    ofRow(
      'constraint_violated',
      'A row-level security policy of the table refuses rows (%). Change it, or let the user ' +
        'bypass it: ALTER ROLE ... BYPASSRLS.',
    ),
  ],
  [
    /^index row (size|requires)/,
    ofRow(
      'limit_exceeded',
      'A value is too long for an index of the table (%). Drop the index, or put it on a hash or ' +
        'on the beginning of the column.',
    ),
  ],
  [
    /^row is too big/,
    ofRow(
      'limit_exceeded',
      'A row is larger than the server allows (%). Exclude the large events with exclude_events, ' +
        'or export to files.',
    ),
  ],
];

const by_message: [RegExp, Fault][] = [
  [/does not support SSL/, server_faults.unencrypted],
  [/timeout expired|Connection terminated due to connection timeout/, unreachable],
  [
    /Connection terminated|connection is closed|not queryable|Client was closed/,
    server_faults.broken,
  ],
  [
    /error establishing an SSL connection/,
    passing('server_stopping', 'The server can open no session now. Its log says why.'),
  ],
];

const none: OwnFaults = { by_message: [], by_code: {} };

/**
 * Translates a fault of the server or its connection into an error that says what to do; others
 * stay unchanged.
 */
export function postgresError(error: unknown, own: OwnFaults = none): unknown {
  return explain(error, (known) => {
    const { code } = known as NodeJS.ErrnoException;
    const fault =
      saidFault(known, own.by_message) ??
      codedFault(code, own.by_code) ??
      saidFault(known, by_words) ??
      codedFault(code, faults) ??
      saidFault(known, by_message) ??
      // An error of the server itself has a severity.
      ('severity' in known ? server_faults.other : undefined);
    if (fault === undefined) return undefined;
    return { fault, said: known.message.replace(/\.$/, '') + columnOf(known) };
  });
}

/**
 * Returns true for a CREATE TABLE IF NOT EXISTS that another session completed first: the server
 * then reports a duplicate in its own catalogue.
 */
export function isThereAlready(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '42P07' || code === '23505';
}

/** Returns true if a row would be merged into one that the same statement has written. */
export function isKeyTwice(error: unknown): boolean {
  return (error as { code?: unknown }).code === '21000';
}

/**
 * COPY names the column of an unfit value only outside its message. The value itself is omitted.
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

/** A DOMException's code is a number: 23, a time-out, must not match the class 23 of SQLSTATE. */
function codedFault(code: unknown, table: Readonly<Record<string, Fault>>): Fault | undefined {
  if (typeof code !== 'string') return undefined;
  return table[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? table[code.slice(0, 2)] : undefined);
}
