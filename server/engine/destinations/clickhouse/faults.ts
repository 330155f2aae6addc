import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { explain, faultError, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { server_faults } from '../sql_tables/server_faults.ts';

const { cancelled, short, statement, unverified, value } = server_faults;
const unreachable = passing(
  'connection_failed',
  'The server does not answer at this address. Check the key url, and that its firewall lets ' +
    'this server in.',
);
const broken = passing(
  'connection_lost',
  'The connection to the server broke. If this happens again, check the key url: a port with TLS ' +
    'needs https.',
);
const credentials = lasting(
  'authentication_failed',
  'The server refused user or password. Check user and password, and from where the ' +
    'user may come.',
);
const denied = lasting(
  'permission_denied',
  'The user lacks a right (%). Grant SELECT, INSERT, CREATE TABLE and DROP ' +
    'TABLE on the database, and ALTER on the table.',
);
const gone = passing(
  'slice_lost',
  'Somebody, or another attempt, removed a table of the delivery before the commit. Sluice ' +
    'creates it again.',
);
const not_clickhouse = lasting(
  'not_clickhouse',
  "The server at this address is not ClickHouse's HTTP interface; check the key url (the " +
    'usual ports are 8443 and 8123).',
);

/**
 * By the name of ClickHouse's error or the error code of Node. `%` stands for the server's message.
 */
const faults: Record<string, Fault> = {
  ...byConnectionCode({
    host_not_found: lasting(
      'host_not_found',
      'The host name cannot be resolved; check the key url.',
    ),
    lookup_failed: server_faults.lookup_failed,
    unreachable,
    broken,
    tls_not_offered: lasting(
      'tls_not_offered',
      'The server offers no TLS at this port; check the port in the key url.',
    ),
    tls_not_verified: unverified,
  }),
  ERR_STREAM_PREMATURE_CLOSE: broken,
  HPE_INVALID_CONSTANT: not_clickhouse,
  AUTHENTICATION_FAILED: credentials,
  UNKNOWN_USER: credentials,
  WRONG_PASSWORD: credentials,
  REQUIRED_PASSWORD: credentials,
  IP_ADDRESS_NOT_ALLOWED: credentials,
  ACCESS_DENIED: denied,
  READONLY: denied,
  DATABASE_ACCESS_DENIED: denied,
  UNKNOWN_DATABASE: lasting(
    'database_missing',
    'The database does not exist; create it or check the key database.',
  ),
  UNKNOWN_TABLE: gone,
  TABLE_IS_DROPPED: gone,
  TABLE_ALREADY_EXISTS: server_faults.created_at_once,
  INCOMPATIBLE_COLUMNS: passing(
    'conflict',
    'The table was altered during the delivery; Sluice delivers again.',
  ),
  TABLE_IS_READ_ONLY: passing(
    'read_only',
    'The server accepts no writes to the table at the moment.',
  ),
  VIOLATED_CONSTRAINT: server_faults.constraint,
  CANNOT_PARSE_TEXT: value,
  CANNOT_PARSE_QUOTED_STRING: value,
  CANNOT_PARSE_INPUT_ASSERTION_FAILED: value,
  CANNOT_PARSE_DATE: value,
  CANNOT_PARSE_DATETIME: value,
  CANNOT_PARSE_NUMBER: value,
  CANNOT_PARSE_BOOL: value,
  CANNOT_PARSE_UUID: value,
  CANNOT_PARSE_IPV4: value,
  CANNOT_PARSE_IPV6: value,
  CANNOT_CONVERT_TYPE: value,
  CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN: value,
  TYPE_MISMATCH: value,
  ARGUMENT_OUT_OF_BOUND: value,
  DECIMAL_OVERFLOW: value,
  VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE: value,
  UNKNOWN_ELEMENT_OF_ENUM: value,
  TOO_LARGE_STRING_SIZE: value,
  INCORRECT_DATA: value,
  SYNTAX_ERROR: statement,
  NOT_IMPLEMENTED: statement,
  SUPPORT_IS_DISABLED: statement,
  BAD_ARGUMENTS: statement,
  UNKNOWN_SETTING: statement,
  SETTING_CONSTRAINT_VIOLATION: statement,
  UNKNOWN_IDENTIFIER: statement,
  NO_SUCH_COLUMN_IN_TABLE: statement,
  ILLEGAL_COLUMN: statement,
  TABLES_HAVE_DIFFERENT_PARTITION_EXPRESSION: statement,
  QUERY_IS_PROHIBITED: statement,
  NOT_ENOUGH_SPACE: server_faults.disk_full,
  CANNOT_READ_ALL_DATA: broken,
  NETWORK_ERROR: broken,
  SOCKET_TIMEOUT: broken,
  TIMEOUT_EXCEEDED: cancelled,
  TOO_SLOW: cancelled,
  QUERY_WAS_CANCELLED: cancelled,
  QUOTA_EXCEEDED: passing('throttled', 'A quota of the user is used up for now (%).'),
  TOO_MANY_SIMULTANEOUS_QUERIES: passing(
    'too_many_connections',
    'The server already runs its maximum number of queries.',
  ),
  MEMORY_LIMIT_EXCEEDED: short,
  TOO_MANY_PARTS: short,
  TOO_MANY_BYTES: short,
};

/**
 * Translates a fault of the server or its connection into an error that says what to do; others
 * stay unchanged.
 */
export function clickHouseError(error: unknown): unknown {
  return explain(error, ({ type, code }: Error & { type?: string; code?: unknown }) => {
    const fault = faults[type ?? ''] ?? faults[typeof code === 'string' ? code : ''];
    // ClickHouse has some seven hundred errors: all others count as its own.
    if (fault !== undefined || type === undefined) return fault;
    return passing('server_fault', `The server reported ${type} (%).`);
  });
}

/** Returns the error for a server older than the oldest supported release. */
export function tooOld(version: string, oldest: string): Error {
  const sentence =
    `ClickHouse % is too old: an export needs ${oldest} or newer. Update the server or choose ` +
    'another one with the key url.';
  return faultError(lasting('server_too_old', sentence), version);
}

/**
 * Returns the error for an answer of another program, such as a page of a proxy, or an unreadable
 * one. The client has its whole text as the message, which is not for users.
 */
export function answerError(answer: Error): Error {
  if (answer.message.startsWith('Timeout error'))
    return faultError(passing('timed_out', 'The server sent nothing for an hour.'), '', answer);
  if (answer instanceof SyntaxError || answer.message.includes('is for clickhouse-client'))
    return faultError(not_clickhouse, answer.message, answer);
  // Releases before 21.x send no error type, so the client does not recognize the error.
  const [, said] =
    /^Code: \d+[,.].*?DB::Exception: (.*?)(?:, e\.what\(\) = .*)?$/s.exec(answer.message) ?? [];
  if (said !== undefined)
    return faultError(passing('server_fault', 'The server reported an error (%).'), said, answer);
  return faultError(
    passing(
      'unexpected_answer',
      'The server, or a proxy before it, answered with an error that is not from ClickHouse. ' +
        'Check the key url if this happens again.',
    ),
    '',
    answer,
  );
}
