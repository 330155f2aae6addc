import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { codeOf, explain, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { SnowflakeFault } from './client.ts';
import type { ClientFault } from './client.ts';
import { server_faults } from '../sql_tables/server_faults.ts';

const unverified = lasting(
  'tls_not_verified',
  'The certificate of the host is not signed by an authority that this server trusts, or is for ' +
    'another host. Check the keys account and host.',
);
const unencrypted = lasting(
  'tls_not_offered',
  'The host offers no TLS at this port; check the key host.',
);
const unreachable = passing(
  'connection_failed',
  'The account does not answer. Check the keys account and host, and that the firewall of this ' +
    'server allows the connection.',
);
const broken = passing(
  'connection_lost',
  'The connection to the account broke, or its session ended.',
);
const credentials = lasting(
  'authentication_failed',
  'Snowflake refused the user (%). Check user and password or private_key, whether ' +
    'the user is locked or needs a second factor, and the network policy.',
);
const denied = lasting(
  'permission_denied',
  'The role lacks a right (%). Grant it USAGE on warehouse, database and ' +
    'schema, CREATE STAGE and CREATE TABLE on the schema, SELECT, INSERT and UPDATE on the ' +
    'table, and DELETE to replace the table.',
);
const { value } = server_faults;
const asleep = passing(
  'warehouse_unavailable',
  'The warehouse cannot work now (%). Resume it, set AUTO_RESUME, or raise the quota of ' +
    'its resource monitor.',
);
const cancelled = passing('cancelled_by_server', 'Snowflake cancelled the statement (%).');
const locked = passing(
  'locked',
  'Another delivery or session has held a lock on the table or on this delivery for more than a ' +
    'minute.',
);

/**
 * By Snowflake's number, with six digits, by the number of the official client, or by the error
 * code of Node. `%` stands for the message.
 */
const faults: Record<string, Fault> = {
  ...byConnectionCode({
    host_not_found: lasting(
      'host_not_found',
      'The host name cannot be resolved; check the keys account and host.',
    ),
    lookup_failed: server_faults.lookup_failed,
    unreachable,
    broken,
    tls_not_offered: unencrypted,
    tls_not_verified: unverified,
  }),
  client_lost: passing('connection_lost', 'The client of the account ended during its work.'),
  upload_failed: passing(
    'store_fault',
    'A file could not be uploaded to the stage of the account (%).',
  ),
  // The session may have ended while it was idle.
  390104: broken,
  390111: broken,
  390112: broken,
  390114: broken,
  // The tables that we create may already exist.
  '002002': passing('conflict', 'Another session created the table at the same moment (%).'),
  '002003': lasting(
    'table_missing',
    'The table or one that it needs is gone, or the role may not see it (%).',
  ),
  // Types that no value fits: each row would be refused.
  '002023': lasting(value.code, value.message),
  '002043': lasting(
    'table_missing',
    'The table or one that it needs is gone, or the role may not see it (%).',
  ),
  '003001': denied,
  '000606': asleep,
  '000607': asleep,
  '090073': asleep,
  '000604': cancelled,
  '000630': cancelled,
  '000625': locked,
  '000629': locked,
  401001: broken,
  402001: broken,
  405503: broken,
  407001: broken,
  407002: broken,
};

const classes: Record<string, Fault> = {
  '22': value,
  '23': server_faults.constraint,
  '40': passing(
    'conflict',
    'Snowflake ended the transaction because of a conflict with another one.',
  ),
  '42': lasting(
    'statement_refused',
    'Snowflake refused the statement (%). The table may not fit the export: compare its ' +
      'columns with those of the preview, or export to a separate table.',
  ),
  '54': lasting('limit_exceeded', 'A limit of the account refuses the delivery (%).'),
  '57': cancelled,
};

/**
 * Translates a fault of the account or its connection into an error that says what to do; others
 * stay unchanged.
 */
export function snowflakeError(error: unknown): unknown {
  return explain(error, (known) => {
    if (known instanceof SnowflakeFault) {
      const said = known.fault.cause_message ?? known.fault.message;
      return { fault: faultOf(known.fault), said: withoutQueries(said) };
    }
    const fault = faults[codeOf(known) ?? ''];
    return fault === undefined ? undefined : { fault, said: withoutQueries(known.message) };
  });
}

function faultOf(fault: ClientFault): Fault {
  const { status, cause_code, message } = fault;
  const code =
    fault.code.length < 6 && /^\d+$/.test(fault.code) ? fault.code.padStart(6, '0') : fault.code;
  if (status === 429) return passing('throttled', 'Snowflake asks for fewer requests.');
  if (status !== undefined)
    return passing(
      'server_fault',
      `Snowflake, or a proxy in front of it, answered with status ${status}.`,
    );
  if (cause_code !== undefined && faults[cause_code] !== undefined) return faults[cause_code];
  if (faults[code] !== undefined) return faults[code];
  if (code.startsWith('390')) return credentials;
  if (/\bcheck constraint\b/i.test(message)) return server_faults.constraint;
  if (/\block(ed|s)?\b/i.test(message) && fault.sql_state.startsWith('57')) return locked;
  return (
    classes[fault.sql_state.slice(0, 2)] ??
    passing('server_fault', 'Snowflake reported a fault (%).')
  );
}

/** Removes the query of URLs in a text, which may contain the token of a storage. */
function withoutQueries(text: string): string {
  return text.replaceAll(/\?\S*/g, '');
}
