import { NonRetryableError, RetryableError } from '../../destination.ts';

type Fault = { retryable: boolean; code: string; message: string };

const final = (code: string, message: string): Fault => ({ retryable: false, code, message });
const passing = (code: string, message: string): Fault => ({ retryable: true, code, message });

const credentials = final('authentication_failed', 'The store refused the access key or its secret; check aws_access_key_id and aws_secret_access_key.');
const region = final('wrong_region', 'The bucket is in another region; check the key region.');
const denied = final(
  'permission_denied',
  'The access key may not do this. It needs s3:PutObject, s3:AbortMultipartUpload and, to go on after a crash and to verify, s3:GetObject, s3:ListBucket, s3:ListMultipartUploadParts and s3:ListBucketMultipartUploads.',
);
const bucket = final('bucket_missing', 'There is no bucket of this name; check the key bucket_name.');
const key = final('kms_key_unusable', 'The key of the encryption cannot be used; check kms_key_id, its region and its policy.');
const unreachable = passing('connection_failed', 'The store does not answer at its address.');
const broken = passing('connection_lost', 'The connection to the store broke or took too long.');
const busy = passing('throttled', 'The store asks for fewer requests; the run goes on by itself.');
const certificate = final('tls_not_verified', 'The certificate of the endpoint is not signed by an authority known here, or is for another host.');

/** By the name or code of the error, whoever gave it: the store, the SDK or the system. */
const faults: Record<string, Fault> = {
  NoSuchBucket: bucket,
  InvalidBucketName: final('bucket_missing', 'The store says that a bucket cannot have this name; check the key bucket_name.'),
  AccessDenied: denied,
  AllAccessDisabled: denied,
  AccountProblem: denied,
  InvalidAccessKeyId: credentials,
  SignatureDoesNotMatch: credentials,
  InvalidToken: credentials,
  ExpiredToken: credentials,
  AuthorizationHeaderMalformed: region,
  PermanentRedirect: region,
  IllegalLocationConstraintException: region,
  RequestTimeTooSkewed: final('clock_wrong', "The clock of this server differs from the store's by more than 15 minutes; set it right."),
  KMSDisabledException: key,
  KMSNotFoundException: key,
  'KMS.NotFoundException': key,
  'KMS.DisabledException': key,
  InvalidArgument: final('request_refused', 'The store refused the request; check encryption, kms_key_id and prefix.'),
  InvalidRequest: final('request_refused', 'The store refused the request; check encryption, kms_key_id and prefix.'),
  KeyTooLongError: final('request_refused', 'The keys are too long for the store; choose a shorter prefix.'),
  InvalidEncryptionAlgorithmError: final('request_refused', 'The store does not know this encryption.'),
  NotImplemented: final('request_refused', 'The store lacks something that exports need, such as multipart uploads.'),
  NoSuchUpload: passing('slice_lost', 'An upload ended before it could be completed; it is made again. A rule of the bucket may end open uploads too early.'),
  InvalidPart: passing('slice_lost', 'A part of an upload is gone; it is made again.'),
  EntityTooSmall: passing('slice_lost', 'The store refused a part as too small; it is made again.'),
  SlowDown: busy,
  Throttling: busy,
  ThrottlingException: busy,
  TooManyRequests: busy,
  RequestLimitExceeded: busy,
  ServiceUnavailable: busy,
  InternalError: passing('store_fault', 'The store reported an internal fault.'),
  RequestTimeout: broken,
  RequestTimeoutException: broken,
  TimeoutError: broken,
  AbortError: broken,
  ECONNRESET: broken,
  EPIPE: broken,
  ETIMEDOUT: unreachable,
  ECONNREFUSED: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  EAI_AGAIN: unreachable,
  ENOTFOUND: final('host_not_found', 'There is no host of this name; check region and endpoint_url.'),
  DEPTH_ZERO_SELF_SIGNED_CERT: certificate,
  SELF_SIGNED_CERT_IN_CHAIN: certificate,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: certificate,
  ERR_TLS_CERT_ALTNAME_INVALID: certificate,
  CERT_HAS_EXPIRED: certificate,
};

// Answers to HEAD have no body, so only the status tells.
const refused = final('permission_denied', 'The store refused the request: the access key or its secret is wrong, or the key has no right to this bucket.');

const by_status: Record<number, Fault> = { 301: region, 307: region, 401: credentials, 403: refused, 404: bucket, 429: busy };

/** What is known of an error of the SDK. */
type SdkError = Error & { Code?: string; code?: string; $metadata?: { httpStatusCode?: number } };

/** A fault of the store or the way to it as an error that says what to do; every other error, above all the source's, stays as it is. */
export function s3Error(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof NonRetryableError || error instanceof RetryableError) return error;
  const { name, Code, code } = error as SdkError;
  if (code === 'outbound_refused') return new NonRetryableError(code, error.message, { cause: error });
  const fault = faults[name] ?? faults[Code ?? ''] ?? faults[code ?? ''] ?? faultOfStatus(statusOf(error));
  if (fault === undefined) return error;
  return new (fault.retryable ? RetryableError : NonRetryableError)(fault.code, fault.message, { cause: error });
}

function faultOfStatus(status: number | undefined): Fault | undefined {
  if (status === undefined || status < 300) return undefined;
  return (
    by_status[status] ??
    (status >= 500 ? passing('store_fault', 'The store reported a fault of its own.') : final('request_refused', 'The store refused the request.'))
  );
}

/** The HTTP status that the store gave, or undefined when it gave none. */
function statusOf(error: unknown): number | undefined {
  return (error as SdkError | undefined)?.$metadata?.httpStatusCode;
}

/** True when the store says that an object or upload is not there. */
export function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes((error as Error).name);
}

/** True when a listing or reading request is not allowed or not known to the store: nothing that a delivery depends on. */
export function isUnavailable(error: unknown): boolean {
  return [403, 405, 501].includes(statusOf(error) ?? 0);
}

/** Runs `work` and throws what `s3Error` makes of its errors. */
export async function withS3Errors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw s3Error(error);
  }
}
