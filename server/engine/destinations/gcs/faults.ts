import { causesOf, codeOf, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { explainFault, throttled } from '../object_store/faults.ts';
import type { StoreFaults } from '../object_store/object_store.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

const credentials = lasting(
  'authentication_failed',
  'Google refused the service account; check that service_account_json is complete, that its key ' +
    'was not deleted or disabled, and that the clock of this server is right.',
);
const denied = lasting(
  'permission_denied',
  'The service account lacks the permission for this (%). It needs storage.objects.create, ' +
    'storage.objects.delete and storage.multipartUploads.create. To resume after a crash, clean ' +
    'up and verify, it also needs storage.objects.get, storage.objects.list, ' +
    'storage.multipartUploads.list, .listParts and .abort: the role Storage Object User has them ' +
    'all.',
);
const bucket = lasting('bucket_missing', 'The bucket does not exist; check the key bucket_name.');
const billing = lasting(
  'permission_denied',
  'Google has closed the project or the billing account of the bucket; open it again there.',
);
const immutable = lasting(
  'permission_denied',
  'A retention policy or a hold of the bucket forbids replacing or removing objects.',
);
const kms_key = lasting(
  'kms_key_unusable',
  "The key of the bucket's encryption cannot be used; check it and the rights of the storage " +
    'service to it.',
);
const store_fault = passing('store_fault', 'Google reported an internal fault.');

/** By the reason of the JSON API, the code of the XML API, or the error of the token service. */
const by_name: Record<string, Fault> = {
  invalid_grant: credentials,
  invalid_client: credentials,
  unauthorized_client: credentials,
  authError: credentials,
  AuthenticationRequired: credentials,
  InvalidSecurity: credentials,
  forbidden: denied,
  AccessDenied: denied,
  accountDisabled: billing,
  billingNotEnabled: billing,
  UserProjectAccountProblem: billing,
  AccountProblem: billing,
  NoSuchBucket: bucket,
  InvalidBucketName: bucket,
  retentionPolicyNotMet: immutable,
  RetentionPolicyNotMet: immutable,
  objectUnderActiveHold: immutable,
  ObjectUnderActiveHold: immutable,
  cloudKmsBadKey: kms_key,
  cloudKmsDisabledKey: kms_key,
  cloudKmsPermissionDenied: kms_key,
  NoSuchUpload: passing(
    'slice_lost',
    'An upload ended before Sluice could complete it. Sluice uploads it again. A lifecycle rule ' +
      'of the bucket may abort open uploads too early.',
  ),
  InvalidPart: passing(
    'slice_lost',
    'The store lost a part of an upload. Sluice uploads it again.',
  ),
  rateLimitExceeded: throttled,
  userRateLimitExceeded: throttled,
  SlowDown: throttled,
  TooManyRequests: throttled,
  backendError: store_fault,
  internalError: store_fault,
  InternalError: store_fault,
  ENOTFOUND: lasting('host_not_found', 'The host name cannot be resolved; check endpoint_url.'),
};

const by_status: Record<number, Fault> = { 401: credentials, 403: denied, 404: bucket };

/** Fields of the library's errors. */
type LibraryError = Error & { status?: number; response?: { status?: number; data?: unknown } };

function statusOf(error: unknown): number | undefined {
  const { response, status } = (error ?? {}) as LibraryError;
  return response?.status ?? status;
}

/** The library hides the system's error behind its own and that of `fetch`. */
function namesOf(error: Error): string[] {
  return [
    ...answerOf(error).names,
    ...causesOf(error).flatMap((cause) => [codeOf(cause), cause.name]),
  ].filter((name) => name !== undefined);
}

/** The names and message of an answer, in any of Google's three forms. */
type Answer = { names: string[]; said: string };

function answerOf(error: Error): Answer {
  return read((error as LibraryError).response?.data);
}

function read(data: unknown): Answer {
  if (typeof data === 'string') {
    const code = /<Code>(\w+)<\/Code>/.exec(data)?.[1];
    if (code === undefined) return read(parsed(data));
    const words = /<(Details|Message)>([^<]+)<\/\1>/.exec(data)?.[2];
    return { names: [code], said: words ?? '' };
  }
  const { error, error_description } = (data ?? {}) as {
    error?: string | { message?: string; errors?: { reason?: string }[] };
    error_description?: string;
  };
  if (typeof error === 'string') return { names: [error], said: error_description ?? error };
  return {
    names: (error?.errors ?? []).flatMap(({ reason }) => reason ?? []),
    said: error?.message ?? '',
  };
}

function parsed(text: string): unknown {
  const value = parseJson(text);
  return typeof value === 'object' ? value : undefined;
}

/** Rules for reading errors of the library. */
export const gcs_faults: StoreFaults = {
  explain: (error) =>
    explainFault(error, { by_name, by_status }, (known) => ({
      names: namesOf(known),
      status: statusOf(known),
      said: answerOf(known).said,
    })),
  isUnavailable: (error) => [403, 405, 501].includes(statusOf(error) ?? 0),
};

/** Returns true if `work` wrote an object, and false if Google refuses because the name exists. */
export async function unlessTaken(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (statusOf(error) === 412) return false;
    throw error;
  }
}

/**
 * Returns the result of `work`, or undefined if Google reports a missing object or upload. The JSON
 * API reports a missing bucket in the same way; the XML API distinguishes them, and a missing
 * bucket is thrown.
 */
export async function unlessMissing<Result>(
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (
      error instanceof Error &&
      statusOf(error) === 404 &&
      !namesOf(error).includes('NoSuchBucket')
    )
      return undefined;
    throw error;
  }
}
