import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openAzureServer } from '../servers/object_stores/azure_server.ts';
import { openGcsServer } from '../servers/object_stores/gcs_server.ts';
import { openS3Server } from '../servers/object_stores/s3_server.ts';
import type { FaultCase, OpenFaults } from './matrix.ts';
import { azurePlaces, bucket_name, gcsPlaces, s3Places } from './object_places.ts';
import { answering, awayWhenCancelled, configured, hanging, silent } from './object_ways.ts';
import type { Store } from './object_ways.ts';

/** Faults of object stores, on stand-ins that `close` closes. */
export async function openObjectFaults(): Promise<OpenFaults> {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const [s3, azure, gcs] = await Promise.all([
    openS3Server([bucket_name]),
    openAzureServer(),
    openGcsServer([bucket_name]),
  ]);
  const s3_store = { destination: 'S3', server: s3, place: s3Places(s3, outbound) };
  const openUploads = (prefix: string) =>
    s3.openUploads(bucket_name).filter((key) => key.startsWith(prefix)).length;
  const cases = [
    ...s3Faults(s3_store),
    awayWhenCancelled(s3_store, openUploads),
    ...azureFaults({ destination: 'AzureBlob', server: azure, place: await azurePlaces(azure) }),
    ...gcsFaults({ destination: 'GCS', server: gcs, place: gcsPlaces(gcs) }),
  ];
  return {
    cases,
    close: async () =>
      void (await Promise.all([s3.close(), azure.close(), gcs.close(), outbound.close()])),
  };
}

function s3Faults(store: Store): FaultCase[] {
  const writing = answering(store, /^(PUT|POST) /);
  return [
    configured(store, 'the wrong secret', 'authentication_failed', {
      aws_secret_access_key: 'wrong',
    }),
    configured(store, 'an unknown access key', 'authentication_failed', {
      aws_access_key_id: 'UNKNOWN',
    }),
    configured(store, 'no such bucket', 'bucket_missing', { bucket_name: 'no-such-bucket' }),
    configured(store, 'no such host', 'host_not_found', {
      endpoint_url: 'https://no-such-host.invalid',
    }),
    configured(store, 'the metadata service of a cloud', 'outbound_refused', {
      endpoint_url: 'http://169.254.169.254',
    }),
    writing('a policy denies writing', 403, 'AccessDenied', 'permission_denied', 'Failed'),
    writing(
      'the bucket is in another region',
      400,
      'AuthorizationHeaderMalformed',
      'wrong_region',
      'Failed',
    ),
    writing(
      'the key of the encryption is gone',
      400,
      'KMS.NotFoundException',
      'kms_key_unusable',
      'Failed',
    ),
    ...s3Passing(store),
    hanging(store, /^(PUT|POST) /),
    silent(store, /^(PUT|POST) /),
  ];
}

/** Returns temporary faults of S3, after which the run is retried. */
function s3Passing(store: Store): FaultCase[] {
  const writing = answering(store, /^(PUT|POST) /);
  return [
    writing('500 three times', 500, 'InternalError', 'store_fault', 'tried again'),
    writing('it asks to slow down three times', 503, 'SlowDown', 'throttled', 'tried again'),
    writing('a part is not what was sent', 400, 'BadDigest', 'connection_lost', 'tried again'),
    answering(store, /^POST .*uploadId/)(
      'the upload is gone when it is to be shown',
      404,
      'NoSuchUpload',
      'slice_lost',
      'tried again',
    ),
  ];
}

function azureFaults(store: Store): FaultCase[] {
  const writing = answering(store, /comp=block&/);
  return [
    configured(store, 'the wrong key', 'authentication_failed', {
      account_key: Buffer.from('wrong').toString('base64'),
    }),
    configured(store, 'no such container', 'bucket_missing', {
      container_name: 'no-such-container',
    }),
    writing(
      'a policy denies writing',
      403,
      'AuthorizationPermissionMismatch',
      'permission_denied',
      'Failed',
    ),
    writing('it is busy three times', 503, 'ServerBusy', 'throttled', 'tried again'),
    silent(store, /comp=block&/),
  ];
}

function gcsFaults(store: Store): FaultCase[] {
  const writing = answering(store, /^(PUT|POST) /);
  return [
    configured(store, 'no such bucket', 'bucket_missing', { bucket_name: 'no-such-bucket' }),
    configured(store, 'the metadata service of a cloud', 'outbound_refused', {
      endpoint_url: 'http://169.254.169.254/',
    }),
    writing('the account may not write', 403, 'AccessDenied', 'permission_denied', 'Failed'),
    writing('503 three times', 503, 'ServiceUnavailable', 'store_fault', 'tried again'),
    silent(store, /^(PUT|POST) /),
  ];
}
