import { lasting, ofRow, passing } from '../../model/destination/faults.ts';

/**
 * Faults that all servers with tables share, with the same messages. `%` stands for the server's
 * message.
 */
export const server_faults = {
  unverified: lasting(
    'tls_not_verified',
    'The certificate of the server is not signed by an authority that this server trusts, or is ' +
      'for another host. Install a valid one, or set has_self_signed_cert to true.',
  ),
  unencrypted: lasting(
    'tls_not_offered',
    'The server offers no TLS. Switch it on there, or, on a private network only, set ' +
      'require_tls to false.',
  ),
  host_unknown: lasting('host_not_found', 'The host name cannot be resolved; check the key host.'),
  lookup_failed: passing(
    'connection_failed',
    'The host name could not be looked up at the moment.',
  ),
  unreachable: passing(
    'connection_failed',
    'The server does not answer at this host and port. Check both, and that its firewall lets ' +
      'this server in.',
  ),
  broken: passing('connection_lost', 'The connection to the server broke.'),
  crowded: passing('too_many_connections', 'The server has no free connections.'),
  database_missing: lasting(
    'database_missing',
    'The database does not exist; check the key database.',
  ),
  table_missing: lasting('table_missing', 'The table or one that it needs is gone (%).'),
  created_at_once: passing('conflict', 'Another delivery created the table at the same moment.'),
  conflict: passing(
    'conflict',
    'The server ended the transaction because of a conflict with another one (%).',
  ),
  value: ofRow(
    'value_refused',
    'The table refuses a value (%). Change the type of the column, or let the export ' +
      'create the table.',
  ),
  /** Codes that only say that the server refused a value. */
  row: ofRow(
    'value_refused',
    'The server refused a row (%). Look at the triggers, checks and column types of the table.',
  ),
  limit: ofRow(
    'limit_exceeded',
    'A limit of the server refuses a row (%). Change what the message names, or leave such rows ' +
      'out with exclude_events.',
  ),
  constraint: ofRow(
    'constraint_violated',
    'A constraint or the partitions of the table refuse rows (%). Change that, or export to a ' +
      'separate table.',
  ),
  trigger: ofRow(
    'constraint_violated',
    'A trigger of the table refuses rows (%). Change it, or export to a separate table.',
  ),
  other: passing('server_fault', 'The server reported a fault (%).'),
  statement: lasting(
    'statement_refused',
    'The server refused the statement (%). The table may not fit the export: compare its ' +
      'columns with those of the preview, or export to a separate table.',
  ),
  cancelled: passing(
    'cancelled_by_server',
    'The server cancelled the statement (%): a time limit of the user or the server did, or an ' +
      'administrator. Raise the limit if this happens again.',
  ),
  short: passing('out_of_resources', 'The server is short of resources (%).'),
  disk_full: passing(
    'disk_full',
    'The disk of the destination is full. Free some space there. Sluice retries the run.',
  ),
  stopping: passing('server_stopping', 'The server is stopping or starting.'),
};
