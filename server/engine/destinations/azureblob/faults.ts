import { causesOf, codeOf, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { explainFault, throttled } from '../object_store/faults.ts';
import type { StoreFaults } from '../object_store/object_store.ts';

const credentials = lasting(
  'authentication_failed',
  'Azure refused the key or the shared access signature. Check that it is correct, has not ' +
    'expired and was not rotated, and that the clock of this server is right.',
);
const denied = lasting(
  'permission_denied',
  'The key or the shared access signature lacks the permission for this (%). It needs create and ' +
    'write. To resume after a crash, clean up and verify, it also needs read, list and delete. ' +
    'The firewall of the account must let this server in.',
);
const container = lasting(
  'bucket_missing',
  'The container does not exist; check the key container_name.',
);
const immutable = lasting(
  'permission_denied',
  "The container's immutability policy or a legal hold forbids replacing or removing objects.",
);

/** By Azure's own code of the error. */
const by_name: Record<string, Fault> = {
  AuthenticationFailed: credentials,
  InvalidAuthenticationInfo: credentials,
  NoAuthenticationInformation: credentials,
  KeyBasedAuthenticationNotPermitted: lasting(
    'authentication_failed',
    'The account does not allow keys; use a sas_token of a user delegation, or allow them.',
  ),
  AccountIsDisabled: denied,
  AuthorizationFailure: denied,
  AuthorizationPermissionMismatch: denied,
  AuthorizationProtocolMismatch: denied,
  AuthorizationResourceTypeMismatch: denied,
  AuthorizationServiceMismatch: denied,
  AuthorizationSourceIPMismatch: denied,
  InsufficientAccountPermissions: denied,
  ContainerNotFound: container,
  ContainerDisabled: container,
  InvalidResourceName: lasting(
    'bucket_missing',
    'Azure says that a container or object cannot have this name; check container_name and prefix.',
  ),
  ContainerBeingDeleted: passing('conflict', 'The container is being deleted.'),
  BlobImmutableDueToPolicy: immutable,
  BlobImmutableDueToLegalHold: immutable,
  LeaseIdMissing: passing(
    'locked',
    'Another program holds a lease on an object of this delivery; end the lease.',
  ),
  InvalidBlockList: passing(
    'slice_lost',
    'The store lost blocks of an upload. Sluice uploads it again.',
  ),
  BlockCountExceedsLimit: lasting(
    'request_refused',
    'Azure holds too many blocks of failed attempts; it discards them within a week. Set ' +
      'max_file_size_mb.',
  ),
  ServerBusy: throttled,
  OperationTimedOut: passing('store_fault', 'Azure did not finish the request in time.'),
  InternalError: passing('store_fault', 'Azure reported an internal fault.'),
  ENOTFOUND: lasting(
    'host_not_found',
    'The host name cannot be resolved; check account_name, endpoint_url or the connection_string.',
  ),
};

const by_status: Record<number, Fault> = { 401: credentials, 403: denied, 404: container };

/** Fields of the SDK's errors. */
type SdkError = Error & { statusCode?: number; details?: { errorCode?: string } };

/** Returns Azure's code of an error, or the system's. */
function namesOf(error: Error): string[] {
  const { details } = error as SdkError;
  return [
    details?.errorCode,
    ...causesOf(error).flatMap((cause) => [codeOf(cause), cause.name]),
  ].filter((name) => name !== undefined);
}

function statusOf(error: unknown): number | undefined {
  return (error as SdkError | undefined)?.statusCode;
}

/** Rules for reading errors of the SDK. A wrong key never counts as a missing right. */
export const azureblob_faults: StoreFaults = {
  explain: (error) =>
    explainFault(error, { by_name, by_status }, (known) => ({
      names: namesOf(known),
      status: statusOf(known),
      // The lines after the first are the id and the time of the request.
      said: known.message.split('\n', 1)[0] ?? '',
    })),
  isUnavailable: (error) =>
    [403, 405, 501].includes(statusOf(error) ?? 0) && !isNamed(error, 'AuthenticationFailed'),
};

/** Returns true if the error has one of Azure's codes. */
export function isNamed(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && namesOf(error).some((name) => codes.includes(name));
}
