import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDestination } from '../../server/api/destinations/describe.ts';
import { findDestination } from '../../server/engine/destinations/index.ts';
import { server_faults } from '../../server/engine/destinations/sql_tables/server_faults.ts';
import { faultOfTest, inLabels } from './labels.ts';

const typeOf = (name: string) => describeDestination(findDestination(name)!);

test('a text of the API names the fields as the form does', () => {
  const cases: [string, string, string][] = [
    [
      'Postgres',
      'Check user and password, or set host to another.',
      'Check “User” and “Password”, or set “Host” to another.',
    ],
    [
      'HTTP',
      'The endpoint refused the request as wrong; check url, body_format and compression.',
      'The endpoint refused the request as wrong; check “URL”, “Body format” and “Compression”.',
    ],
    [
      'S3',
      'Set max_file_size_mb, or give a user `aws_role_arn`.',
      'Set “Maximum file size (MiB)”, or give a user “Role ARN”.',
    ],
    ['NoOp', 'Check host and port.', 'Check host and port.'],
  ];
  for (const [name, text, shown] of cases) assert.equal(inLabels(typeOf(name), text), shown);
  const { unencrypted, unverified } = server_faults;
  assert.match(inLabels(typeOf('Postgres'), unencrypted.message), /turn off “Require TLS”\.$/);
  assert.match(
    inLabels(typeOf('MySQL'), unverified.message),
    /turn on “Allow self-signed certificates”\.$/,
  );
});

test('a failed test stands at the secret that it names, else at its first key', () => {
  const fault = (name: string, details: (string | null)[]) =>
    faultOfTest(typeOf(name), {
      steps: details.map((detail) => ({
        name: 'A step',
        status: detail === null ? 'passed' : 'failed',
        detail: detail ?? '',
        duration_ms: 1,
      })),
    })?.key;
  const refused = 'The server refused the user or the password. Check user and password.';
  assert.equal(fault('Postgres', [refused]), 'password');
  assert.equal(
    fault('Postgres', ['The server offers no TLS: set require_tls to false.']),
    'require_tls',
  );
  assert.equal(fault('Postgres', ['The server does not answer.']), 'host');
  assert.equal(fault('HTTP', ['The address accepts no POST; check the key url.']), 'url');
  assert.equal(fault('Postgres', [null, 'The disk of the destination is full.']), undefined);
  assert.equal(
    faultOfTest(typeOf('Postgres'), { steps: [] }),
    undefined,
    'a test that passed has no fault',
  );
});
