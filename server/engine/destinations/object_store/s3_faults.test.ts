import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertFault } from '../../../../test/factories/batch_exports/deliveries.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { s3FaultsOf } from './s3_faults.ts';

const faults = s3FaultsOf({ region: 'us-east-1', aws_access_key_id: 'AKIA0' });

test('name and status tell faults apart', () => {
  const cases: [string, number, boolean, string][] = [
    ['NoSuchBucket', 404, false, 'bucket_missing'],
    ['NotFound', 404, false, 'bucket_missing'],
    ['AccessDenied', 403, false, 'permission_denied'],
    ['InvalidAccessKeyId', 403, false, 'authentication_failed'],
    ['SignatureDoesNotMatch', 403, false, 'authentication_failed'],
    ['PermanentRedirect', 301, false, 'wrong_region'],
    ['InvalidBucketName', 400, false, 'bucket_missing'],
    ['KMS.NotFoundException', 400, false, 'kms_key_unusable'],
    ['Unknown', 400, false, 'request_refused'],
    ['SlowDown', 503, true, 'throttled'],
    ['InternalError', 500, true, 'store_fault'],
    ['Unknown', 502, true, 'store_fault'],
    ['Unknown', 429, true, 'throttled'],
    ['RequestTimeout', 400, true, 'connection_lost'],
    ['Unknown', 408, true, 'connection_lost'],
    ['IncompleteBody', 400, true, 'connection_lost'],
    ['OperationAborted', 409, true, 'conflict'],
    ['QuotaExceeded', 403, true, 'disk_full'],
    ['TimeoutError', 0, true, 'connection_lost'],
  ];
  for (const [name, httpStatusCode, isRetryable, code] of cases) {
    const error = faults.explain(
      Object.assign(new Error('said the store'), { name, $metadata: { httpStatusCode } }),
    );
    assertFault(error, isRetryable, code, name);
  }
  for (const code of ['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT'])
    assert.ok(
      faults.explain(Object.assign(new Error('system'), { code })) instanceof RetryableError,
    );
  const source = new Error('the query failed');
  assert.equal(faults.explain(source), source);
});

test('a fault says what the store said', () => {
  const cases: [string, string, object, RegExp][] = [
    [
      'AccessDenied',
      'AKIA0 may not s3:PutObject',
      {},
      /lacks the permission for this \(\[hidden\] may not s3:Put/,
    ],
    [
      'AccessDenied',
      'not allowed: kms:Decrypt',
      {},
      /encryption key cannot be used \(.*kms:Decrypt\)/,
    ],
    ['PermanentRedirect', 'elsewhere', {}, /another region \(elsewhere\)/],
    ['Unknown', 'UnknownError', { httpStatusCode: 418 }, /refused the request \(HTTP 418\)/],
    ['Unknown', 'UnknownError', { httpStatusCode: 502 }, /internal error \(HTTP 502\)/],
  ];
  for (const [name, message, $metadata, said] of cases) {
    const explained = faults.explain(Object.assign(new Error(message), { name, $metadata }));
    assert.match((explained as Error).message, said);
  }
  const head = (region: string) =>
    faults.explain(
      Object.assign(new Error('UnknownError'), {
        $metadata: { httpStatusCode: 400 },
        $response: { headers: { 'x-amz-bucket-region': region } },
      }),
    ) as RetryableError;
  assert.match(head('eu-central-1').message, /another region \(eu-central-1\)/);
  assert.equal(head('us-east-1').code, 'request_refused');
});
