import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFault } from '../../../../../test/factories/batch_exports/deliveries.ts';
import { postgresError } from './faults.ts';

test('SQLSTATE tells faults apart', () => {
  const cases: [string, boolean, string][] = [
    ['08006', true, 'connection_lost'],
    ['57P01', true, 'server_stopping'],
    ['57P03', true, 'server_stopping'],
    ['40001', true, 'conflict'],
    ['40P01', true, 'conflict'],
    ['53100', true, 'disk_full'],
    ['53300', true, 'too_many_connections'],
    ['55P03', true, 'locked'],
    ['XX000', true, 'server_fault'],
    ['57014', true, 'cancelled_by_server'],
    ['28P01', false, 'authentication_failed'],
    ['28000', false, 'authentication_failed'],
    ['3D000', false, 'database_missing'],
    ['3F000', false, 'schema_missing'],
    ['42501', false, 'permission_denied'],
    ['42703', false, 'statement_refused'],
    ['22P02', false, 'value_refused'],
    ['22001', false, 'value_refused'],
    ['23505', false, 'constraint_violated'],
    ['23502', false, 'constraint_violated'],
    ['P0001', false, 'constraint_violated'],
    ['ECONNREFUSED', true, 'connection_failed'],
    ['ENOTFOUND', false, 'host_not_found'],
    ['ECONNRESET', true, 'connection_lost'],
  ];
  for (const [code, isRetryable, name] of cases) {
    const error = postgresError(Object.assign(new Error('said the server'), { code }));
    assertFault(error, isRetryable, name, code);
  }
  const unknown = Object.assign(new Error('said'), { code: '2F005', severity: 'ERROR' });
  assertFault(postgresError(unknown), true, 'server_fault', 'a SQLSTATE without a line of its own');
  // Row-level security, an index and a full row have codes that say something else of other cases.
  const said: [string, string, string, RegExp][] = [
    ['0A000', 'COPY FROM not supported with row-level security', 'permission_denied', /BYPASSRLS/],
    [
      '42501',
      'new row violates row-level security policy for table "t"',
      'constraint_violated',
      /policy/,
    ],
    ['54000', 'index row size 3024 exceeds btree version 4 maximum', 'limit_exceeded', /Drop the/],
    ['54000', 'row is too big: size 9000', 'limit_exceeded', /larger than/],
    ['22P05', 'character with byte sequence 0xf0', 'value_refused', /The encoding of the database/],
    ['22012', 'division by zero', 'value_refused', /Look at the triggers/],
  ];
  for (const [code, message, name, told] of said) {
    const error = postgresError(Object.assign(new Error(message), { code, severity: 'ERROR' }));
    assertFault(error, false, name, message);
    assert.match((error as Error).message, told);
  }
  const source = new Error('the query failed');
  assert.equal(postgresError(source), source);
  const late = new DOMException('took too long', 'TimeoutError');
  assert.equal(postgresError(late), late);
});

test('a code without a line of its own is reported in the words of the server', () => {
  const classes =
    '01 02 08 09 0A 0B 0L 20 21 22 23 24 25 26 27 28 2B 2D 34 38 39 3B 40 42 44 53 54';
  for (const one of [...classes.split(' '), '55', '57', '58', 'F0', 'HV', 'P0', 'XX']) {
    const given = { code: `${one}ZZ9`, severity: 'ERROR' };
    const { message } = postgresError(Object.assign(new Error('said it'), given)) as Error;
    assert.match(message, /\(said it\)/, one);
  }
});

test('a right that is lacking is named for what the server names', () => {
  const said = (message: string) =>
    (postgresError(Object.assign(new Error(message), { code: '42501' })) as Error).message;
  assert.equal(
    said('permission denied for table merged'),
    'The user lacks a right (permission denied for table merged). Grant it INSERT and SELECT on ' +
      'the table and on sluice_receipts. To merge rows it needs UPDATE on the table, to replace ' +
      'the table DELETE on both.',
  );
  assert.match(said('permission denied for schema wide'), /Grant it USAGE on the schema, and/);
  assert.match(said('permission denied for database shop'), /Grant it CONNECT on the database/);
  assert.match(said('Zugriff verweigert'), /Grant CONNECT on the database; USAGE on the schema/);
});
