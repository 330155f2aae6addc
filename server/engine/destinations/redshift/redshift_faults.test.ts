import { test } from 'node:test';
import { assertFault } from '../../../../test/factories/batch_exports/deliveries.ts';
import { redshiftError } from './faults.ts';

test('the words of the cluster, then SQLSTATE tell faults apart', () => {
  const cases: [string, string, boolean, string][] = [
    [
      'XX000',
      'S3ServiceException:Access Denied,Status 403,Error AccessDenied',
      false,
      'permission_denied',
    ],
    [
      'XX000',
      'User arn:aws:redshift:x is not authorized to assume IAM Role arn:aws:iam::1:role/x',
      false,
      'permission_denied',
    ],
    [
      'XX000',
      'S3ServiceException:The bucket you are attempting to access must be addressed using the ' +
        'specified endpoint.',
      false,
      'wrong_region',
    ],
    [
      'XX000',
      'S3ServiceException:The specified key does not exist.,Status 404,Error NoSuchKey',
      true,
      'slice_lost',
    ],
    [
      'XX000',
      "Load into table 'sluice_stage' failed.  Check 'sys_load_error_detail' system table for " +
        'details.',
      false,
      'value_refused',
    ],
    ['XX000', 'Value too long for character type', false, 'value_refused'],
    [
      'XX000',
      '1023 DETAIL: Serializable isolation violation on table - 1, transactions forming the ' +
        'cycle are: 1, 2',
      true,
      'conflict',
    ],
    ['XX000', 'Disk Full', true, 'disk_full'],
    ['XX000', 'something else', true, 'server_fault'],
    ['42501', 'permission denied for relation events', false, 'permission_denied'],
    ['28000', 'password authentication failed', false, 'authentication_failed'],
    ['3D000', 'database "x" does not exist', false, 'database_missing'],
    ['57P01', 'terminating connection', true, 'server_stopping'],
  ];
  for (const [code, message, isRetryable, name] of cases) {
    const error = redshiftError(Object.assign(new Error(message), { code }));
    assertFault(error, isRetryable, name, message);
  }
});
