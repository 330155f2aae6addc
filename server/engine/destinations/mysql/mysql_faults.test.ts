import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFault } from '../../../../test/factories/batch_exports/deliveries.ts';
import { mySqlError } from './faults.ts';

test('the name of the error, then SQLSTATE tells faults apart', () => {
  const cases: [string | undefined, string | undefined, boolean, string][] = [
    ['ER_ACCESS_DENIED_ERROR', '28000', false, 'authentication_failed'],
    ['ER_BAD_DB_ERROR', '42000', false, 'database_missing'],
    ['ER_TABLEACCESS_DENIED_ERROR', '42000', false, 'permission_denied'],
    ['ER_LOCK_WAIT_TIMEOUT', 'HY000', true, 'locked'],
    ['ER_LOCK_DEADLOCK', '40001', true, 'conflict'],
    ['ER_DISK_FULL', 'HY000', true, 'disk_full'],
    ['ER_RECORD_FILE_FULL', 'HY000', true, 'disk_full'],
    ['ER_CON_COUNT_ERROR', '08004', true, 'too_many_connections'],
    ['ER_OPTION_PREVENTS_STATEMENT', 'HY000', true, 'read_only'],
    ['ER_SERVER_SHUTDOWN', '08S01', true, 'server_stopping'],
    ['ER_NET_PACKET_TOO_LARGE', '08S01', false, 'limit_exceeded'],
    ['ER_BAD_NULL_ERROR', '23000', false, 'constraint_violated'],
    ['ER_NO_DEFAULT_FOR_FIELD', 'HY000', false, 'table_unsuitable'],
    ['ER_NO_PARTITION_FOR_GIVEN_VALUE', 'HY000', false, 'constraint_violated'],
    ['ER_SIGNAL_EXCEPTION', '45000', false, 'constraint_violated'],
    ['ER_SOMETHING_NEW', '22001', false, 'value_refused'],
    ['ER_SOMETHING_NEW', '23000', false, 'constraint_violated'],
    ['ER_SIGNAL_EXCEPTION', '12345', false, 'constraint_violated'],
    [undefined, '70100', true, 'cancelled_by_server'],
    [undefined, 'HY000', true, 'server_fault'],
    ['UNKNOWN_CODE_PLEASE_REPORT', '70100', true, 'cancelled_by_server'],
    ['ER_SOMETHING_NEW', '42S99', false, 'statement_refused'],
    ['ER_SOMETHING_NEW', '08S01', true, 'connection_lost'],
    ['ER_SOMETHING_NEW', 'HY000', true, 'server_fault'],
    ['ECONNREFUSED', undefined, true, 'connection_failed'],
    ['PROTOCOL_CONNECTION_LOST', undefined, true, 'connection_lost'],
  ];
  for (const [code, sqlState, isRetryable, name] of cases) {
    const error = mySqlError(
      Object.assign(new Error('said $& the server'), {
        code,
        ...(sqlState === undefined ? {} : { sqlState }),
      }),
    );
    assertFault(error, isRetryable, name, code ?? sqlState!);
  }
  const said = (code: string, message: string) =>
    mySqlError(Object.assign(new Error(message), { code, sqlState: 'HY000' }));
  // To a number of MariaDB the client gives the name that it has with MySQL.
  const locked = said(
    'ER_BULK_PARSER_INCOMPLETE_ESCAPE_SEQUENCE',
    'Access denied, this account is locked',
  );
  assertFault(locked, false, 'authentication_failed', 'a locked account');
  const limited = said('ER_USER_LIMIT_REACHED', "User 'a' has exceeded 'max_queries_per_hour'");
  assertFault(limited, true, 'too_many_connections', 'a limit of the user');
  assert.match(String(limited), /max_queries_per_hour/);
  const odd = said('ER_TRUNCATED_WRONG_VALUE_FOR_FIELD', "Incorrect string value: '\\xF0'");
  assert.match(String(odd), /utf8mb4/);
  const source = new Error('the query failed');
  assert.equal(mySqlError(source), source);
  const late = new DOMException('took too long', 'TimeoutError');
  assert.equal(mySqlError(late), late);
});
