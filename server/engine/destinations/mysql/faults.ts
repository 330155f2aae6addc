import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { explain, lasting, ofRow, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { server_faults } from '../sql_tables/server_faults.ts';

const { broken, cancelled, constraint, trigger, unreachable, unverified, value } = server_faults;
const credentials = lasting(
  'authentication_failed',
  'The server refused the user or the password (%). Check user and password, and from where the ' +
    'user may come.',
);
const denied = lasting(
  'permission_denied',
  'The user lacks a right (%). Grant SELECT and INSERT on the table and on ' +
    'sluice_receipts, UPDATE too for merged rows and repeats, DELETE to replace the table, ' +
    'CREATE where the tables are to be created, DROP and ALTER beside it for a stage.',
);
const full = passing(
  'disk_full',
  'The disk or a table space of the server is full (%). Sluice retries the run. Free some space.',
);
const read_only = passing(
  'read_only',
  'The server accepts no writes at the moment (%). It is a replica, in maintenance or set ' +
    'to read-only.',
);
const limited = passing(
  'too_many_connections',
  'A limit of this user is reached (%). Raise it if this happens again.',
);
const not_given = lasting(
  'table_unsuitable',
  'The table requires a column that the export does not have (%). Give it a default, make it ' +
    'nullable, or export to another table.',
);
const characters = ofRow(
  'value_refused',
  'The table refuses a character (%). Convert it to the character set utf8mb4, or let the ' +
    'export create the table.',
);
const not_mysql = lasting(
  'not_mysql',
  'The server at this host and port is not MySQL; check both.',
);
const other_server = lasting(
  'not_mysql',
  'The server at this host and port is not MySQL but %; check both.',
);
const unheard = passing(
  'connection_failed',
  'The server accepted the connection and sent nothing, although MySQL sends first. It may be ' +
    'another kind of server, such as HTTP or PostgreSQL. Check host and port, and that the ' +
    'server works.',
);
const closed_unheard = passing(
  'connection_lost',
  'The server accepted the connection and closed it without an answer. Check host and port, ' +
    'and the network between MySQL and this server.',
);

/**
 * By the name of MySQL's or MariaDB's error or the error code of Node. `%` stands for the server's
 * message.
 */
const faults: Record<string, Fault> = {
  ...byConnectionCode({
    host_not_found: server_faults.host_unknown,
    lookup_failed: server_faults.lookup_failed,
    unreachable,
    broken,
  }),
  OTHER_SERVER: other_server,
  UNHEARD: unheard,
  CLOSED_UNHEARD: closed_unheard,
  PROTOCOL_CONNECTION_LOST: broken,
  ER_CONNECTION_KILLED: broken,
  ER_CLIENT_INTERACTION_TIMEOUT: broken,
  ER_NET_READ_ERROR: broken,
  ER_NET_READ_INTERRUPTED: broken,
  PROTOCOL_UNEXPECTED_PACKET: not_mysql,
  PROTOCOL_INCORRECT_PACKET_SEQUENCE: not_mysql,
  HANDSHAKE_NO_SSL_SUPPORT: server_faults.unencrypted,
  HANDSHAKE_SSL_ERROR: broken,
  ER_ACCESS_DENIED_ERROR: credentials,
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: credentials,
  ER_HOST_NOT_PRIVILEGED: credentials,
  ER_HOST_IS_BLOCKED: credentials,
  ER_NOT_SUPPORTED_AUTH_MODE: credentials,
  AUTH_SWITCH_PLUGIN_ERROR: credentials,
  ER_MUST_CHANGE_PASSWORD: credentials,
  ER_MUST_CHANGE_PASSWORD_LOGIN: credentials,
  ER_ACCOUNT_HAS_BEEN_LOCKED: credentials,
  ER_BAD_DB_ERROR: server_faults.database_missing,
  ER_DBACCESS_DENIED_ERROR: denied,
  ER_TABLEACCESS_DENIED_ERROR: denied,
  ER_COLUMNACCESS_DENIED_ERROR: denied,
  ER_SPECIFIC_ACCESS_DENIED_ERROR: denied,
  ER_NO_SUCH_TABLE: server_faults.table_missing,
  ER_TABLE_EXISTS_ERROR: server_faults.created_at_once,
  ER_LOCK_WAIT_TIMEOUT: passing(
    'locked',
    'Another delivery or session holds a lock on the table or on rows of it.',
  ),
  ER_LOCK_DEADLOCK: server_faults.conflict,
  ER_LOCK_TABLE_FULL: passing('out_of_resources', 'The server lacks memory for locks (%).'),
  ER_OUT_OF_RESOURCES: server_faults.short,
  ER_OUTOFMEMORY: server_faults.short,
  ER_TRANS_CACHE_FULL: lasting(
    'limit_exceeded',
    'The delivery is larger than the server lets a transaction be (%). Raise ' +
      'max_binlog_cache_size, or choose a shorter interval.',
  ),
  ER_SIGNAL_EXCEPTION: trigger,
  ER_DUP_ENTRY: constraint,
  ER_NO_REFERENCED_ROW_2: constraint,
  ER_CHECK_CONSTRAINT_VIOLATED: constraint,
  ER_CONSTRAINT_FAILED: constraint,
  ER_BAD_NULL_ERROR: constraint,
  ER_NO_PARTITION_FOR_GIVEN_VALUE: constraint,
  ER_NO_DEFAULT_FOR_FIELD: not_given,
  ER_DATA_TOO_LONG: value,
  ER_WARN_DATA_OUT_OF_RANGE: value,
  ER_TRUNCATED_WRONG_VALUE: value,
  ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: value,
  WARN_DATA_TRUNCATED: value,
  ER_INVALID_JSON_TEXT: value,
  ER_INVALID_JSON_VALUE_FOR_CAST: value,
  ER_JSON_DOCUMENT_TOO_DEEP: value,
  ER_TOO_BIG_ROWSIZE: server_faults.limit,
  ER_NET_PACKET_TOO_LARGE: lasting(
    'limit_exceeded',
    'A row is larger than the server allows; raise max_allowed_packet.',
  ),
  ER_DISK_FULL: full,
  ER_RECORD_FILE_FULL: full,
  ER_ENGINE_OUT_OF_MEMORY: full,
  ER_CON_COUNT_ERROR: server_faults.crowded,
  ER_TOO_MANY_USER_CONNECTIONS: limited,
  ER_USER_LIMIT_REACHED: limited,
  ER_OPTION_PREVENTS_STATEMENT: read_only,
  ER_READ_ONLY_MODE: read_only,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: read_only,
  ER_SERVER_SHUTDOWN: server_faults.stopping,
  ER_QUERY_INTERRUPTED: cancelled,
  ER_QUERY_TIMEOUT: cancelled,
  ER_STATEMENT_TIMEOUT: cancelled,
};

/**
 * Translates a fault of the server or its connection into an error that says what to do; others
 * stay unchanged.
 */
export function mySqlError(error: unknown): unknown {
  return explain(error, (known: Error & { code?: unknown; sqlState?: unknown }) => {
    const { code, sqlState, message } = known;
    const state = typeof sqlState === 'string' ? sqlState : undefined;
    // The client has no name for some errors of MariaDB: their SQLSTATE identifies them.
    return faultOf(typeof code === 'string' ? code : '', state, message);
  });
}

/** The class of its SQLSTATE classifies a server's error that is not listed above. */
function faultOf(code: string, sqlState: string | undefined, message: string): Fault | undefined {
  // mysql2 replaces the code of TLS by its own.
  if (code === 'HANDSHAKE_SSL_ERROR' && /certificate|altnames/i.test(message)) return unverified;
  if (code === 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD' && message.startsWith('Incorrect string'))
    return characters;
  // MariaDB's number for it is another error of MySQL's.
  if (/account is locked/i.test(message)) return credentials;
  if (faults[code] !== undefined) return faults[code];
  if (sqlState === undefined) return undefined;
  if (/^22(001|003|007|018|032)$/.test(sqlState)) return value;
  if (sqlState.startsWith('22')) return server_faults.row;
  if (sqlState.startsWith('23')) return constraint;
  if (sqlState === '45000') return trigger;
  if (sqlState.startsWith('70')) return cancelled;
  if (sqlState.startsWith('28')) return credentials;
  if (sqlState.startsWith('42')) return server_faults.statement;
  if (sqlState.startsWith('08')) return broken;
  return server_faults.other;
}
