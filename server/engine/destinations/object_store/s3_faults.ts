import { lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { textOf } from './config_rules.ts';
import { damaged, explainFault, throttled } from './faults.ts';
import type { ErrorFacts } from './faults.ts';
import type { StoreFaults } from './object_store.ts';
import type { S3Place } from './s3_place.ts';

const credentials = lasting(
  'authentication_failed',
  'The store refused the access key or its secret; check aws_access_key_id and ' +
    'aws_secret_access_key.',
);
const region = lasting(
  'wrong_region',
  'The bucket is in another region (%); check the key region.',
);
const denied = lasting(
  'permission_denied',
  'The access key lacks the permission for this (%). It needs s3:PutObject, ' +
    's3:AbortMultipartUpload. To resume after a crash and to verify, it also needs s3:GetObject, ' +
    's3:ListBucket, s3:ListMultipartUploadParts and s3:ListBucketMultipartUploads.',
);
const table_denied = lasting(
  'permission_denied',
  'The access key lacks the permission for this (%). It needs s3tables:PutTableData and ' +
    's3tables:GetTableData.',
);
const bucket = lasting('bucket_missing', 'The bucket does not exist; check the key bucket_name.');
const key = lasting(
  'kms_key_unusable',
  'The encryption key cannot be used (%); check kms_key_id, its region and its policy, and that ' +
    'the access key has kms:GenerateDataKey and kms:Decrypt.',
);
const wrong_request = lasting(
  'request_refused',
  'The store refused the request (%); check encryption, kms_key_id and prefix.',
);
const slow = passing('connection_lost', 'The store waited too long for the rest of a request.');
const conflict = passing('conflict', 'The store is busy with the bucket or the object (%).');
const full = passing(
  'disk_full',
  'The store is full, or a quota is used up (%). The run continues automatically once ' +
    'there is room.',
);

/** By the name or code of the store's error. */
const faults: Record<string, Fault> = {
  NoSuchBucket: bucket,
  InvalidBucketName: lasting(
    'bucket_missing',
    'The store says that a bucket cannot have this name; check the key bucket_name.',
  ),
  AccessDenied: denied,
  AllAccessDisabled: denied,
  TableDataDenied: table_denied,
  AccountProblem: denied,
  InvalidAccessKeyId: credentials,
  SignatureDoesNotMatch: credentials,
  CredentialsProviderError: lasting(
    'authentication_failed',
    'The config has no access key, and this server finds none in its environment; set ' +
      'aws_access_key_id and aws_secret_access_key.',
  ),
  InvalidToken: credentials,
  ExpiredToken: credentials,
  AuthorizationHeaderMalformed: region,
  PermanentRedirect: region,
  IllegalLocationConstraintException: region,
  RequestTimeTooSkewed: lasting(
    'clock_wrong',
    'The clocks of this server and the store differ by more than 15 minutes; correct the wrong ' +
      'one.',
  ),
  KMSDisabledException: key,
  KMSNotFoundException: key,
  'KMS.NotFoundException': key,
  'KMS.DisabledException': key,
  InvalidArgument: wrong_request,
  InvalidRequest: wrong_request,
  KeyTooLongError: lasting(
    'request_refused',
    'The keys are too long for the store; choose a shorter prefix.',
  ),
  InvalidEncryptionAlgorithmError: lasting(
    'request_refused',
    'The store does not support this encryption.',
  ),
  NotImplemented: lasting(
    'request_refused',
    'The store lacks something that exports need, such as multipart uploads.',
  ),
  NoSuchUpload: passing(
    'slice_lost',
    'An upload ended before Sluice could complete it. Sluice uploads it again. A lifecycle rule ' +
      'of the bucket may abort open uploads too early.',
  ),
  InvalidPart: passing(
    'slice_lost',
    'The store lost a part of an upload. Sluice uploads it again.',
  ),
  EntityTooSmall: passing(
    'slice_lost',
    'The store refused a part as too small. Sluice uploads it again.',
  ),
  BadDigest: damaged,
  IncompleteBody: damaged,
  XAmzContentSHA256Mismatch: damaged,
  OperationAborted: conflict,
  ConditionalRequestConflict: conflict,
  QuotaExceeded: full,
  XMinioStorageFull: full,
  SlowDown: throttled,
  Throttling: throttled,
  ThrottlingException: throttled,
  TooManyRequests: throttled,
  RequestLimitExceeded: throttled,
  ServiceUnavailable: throttled,
  InternalError: passing('store_fault', 'The store reported an internal fault.'),
  RequestTimeout: slow,
  RequestTimeoutException: slow,
  ENOTFOUND: lasting(
    'host_not_found',
    'The host name cannot be resolved; check region and endpoint_url.',
  ),
};

// Answers to HEAD have no body, so only the status is known.
const refused = lasting(
  'permission_denied',
  'The store refused the request: the access key or its secret is wrong, or the key has no ' +
    'right to this bucket.',
);

const by_status: Record<number, Fault> = {
  301: region,
  307: region,
  401: credentials,
  403: refused,
  404: lasting(
    'bucket_missing',
    'The bucket does not exist at this address; check bucket_name and endpoint_url.',
  ),
};

/** Fields of the SDK's errors. */
type SdkError = Error & {
  Code?: string;
  code?: string;
  Region?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { headers?: Record<string, string> };
};

/** Returns rules for reading errors of the SDK, without the id of the place's access key. */
export function s3FaultsOf(
  place: Pick<S3Place, 'region' | 'aws_access_key_id' | 'is_table_bucket'>,
): StoreFaults {
  return {
    explain: (error) =>
      explainFault(error, { by_name: faults, by_status }, (known) => factsOf(known, place)),
    isUnavailable: (error) => [403, 405, 501].includes(statusOf(error) ?? 0),
  };
}

function factsOf(
  error: SdkError,
  { region: signed, aws_access_key_id, is_table_bucket }: Parameters<typeof s3FaultsOf>[0],
): ErrorFacts {
  const names = [error.name, error.Code ?? '', error.code ?? ''];
  const status = statusOf(error);
  const actual = error.Region ?? error.$response?.headers?.['x-amz-bucket-region'] ?? signed;
  // An answer to HEAD has no name, so its region decides.
  if (actual !== signed && [301, 307, 400].includes(status ?? 0))
    return { names: ['PermanentRedirect'], status, said: actual };
  const message = error.message === 'UnknownError' ? '' : error.message;
  const said = message.replaceAll(textOf(aws_access_key_id) ?? '\0', '[hidden]');
  // Missing rights to an encryption key give the same error as missing rights to the bucket.
  const isOfKey = error.name === 'AccessDenied' && /\bkms:\w/.test(said);
  const isOfTable = error.name === 'AccessDenied' && is_table_bucket === true;
  if (isOfKey || isOfTable)
    return { names: [isOfKey ? 'KMSDisabledException' : 'TableDataDenied'], status, said };
  return { names, status, said };
}

/** Returns the store's HTTP status, or undefined without one. */
function statusOf(error: unknown): number | undefined {
  return (error as SdkError | undefined)?.$metadata?.httpStatusCode;
}

/**
 * Returns true if `work` wrote an object, and false if the store refuses because the name exists.
 */
export async function unlessTaken(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (statusOf(error) === 412) return false;
    throw error;
  }
}

/** Returns true if the store reports a missing object or upload. */
export function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes((error as Error).name);
}
