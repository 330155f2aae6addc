import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openAzureServer } from '../servers/object_stores/azure_server.ts';
import { openGcsServer } from '../servers/object_stores/gcs_server.ts';
import { openS3Server } from '../servers/object_stores/s3_server.ts';
import type { FaultCase, OpenFaults } from './matrix.ts';
import { azurePlaces, bucket_name, gcsPlaces, s3Places } from './object_places.ts';
import { answered, awayWhenCancelled, configured, hanging, silent } from './object_ways.ts';
import type { Store } from './object_ways.ts';

/** Faults of stores of objects, on stand-ins that are closed with `close`. */
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
    answered(
      store,
      'a policy denies writing',
      /^(PUT|POST) /,
      403,
      'AccessDenied',
      'permission_denied',
      'Failed',
    ),
    answered(
      store,
      'the bucket is in another region',
      /^(PUT|POST) /,
      400,
      'AuthorizationHeaderMalformed',
      'wrong_region',
      'Failed',
    ),
    answered(
      store,
      'the key of the encryption is gone',
      /^(PUT|POST) /,
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

/** What passes by itself, so that the run is tried again; and a part that came damaged. */
function s3Passing(store: Store): FaultCase[] {
  return [
    answered(
      store,
      '500 three times',
      /^(PUT|POST) /,
      500,
      'InternalError',
      'store_fault',
      'tried again',
    ),
    answered(
      store,
      'it asks to slow down three times',
      /^(PUT|POST) /,
      503,
      'SlowDown',
      'throttled',
      'tried again',
    ),
    answered(
      store,
      'a part is not what was sent',
      /^(PUT|POST) /,
      400,
      'BadDigest',
      'request_refused',
      'Failed',
    ),
    answered(
      store,
      'the upload is gone when it is to be shown',
      /^POST .*uploadId/,
      404,
      'NoSuchUpload',
      'slice_lost',
      'tried again',
    ),
  ];
}

function azureFaults(store: Store): FaultCase[] {
  return [
    configured(store, 'the wrong key', 'authentication_failed', {
      account_key: Buffer.from('wrong').toString('base64'),
    }),
    configured(store, 'no such container', 'bucket_missing', {
      container_name: 'no-such-container',
    }),
    answered(
      store,
      'a policy denies writing',
      /comp=block&/,
      403,
      'AuthorizationPermissionMismatch',
      'permission_denied',
      'Failed',
    ),
    answered(
      store,
      'it is busy three times',
      /comp=block&/,
      503,
      'ServerBusy',
      'throttled',
      'tried again',
    ),
    silent(store, /comp=block&/),
  ];
}

function gcsFaults(store: Store): FaultCase[] {
  return [
    configured(store, 'no such bucket', 'bucket_missing', { bucket_name: 'no-such-bucket' }),
    configured(store, 'the metadata service of a cloud', 'outbound_refused', {
      endpoint_url: 'http://169.254.169.254/',
    }),
    answered(
      store,
      'the account may not write',
      /^(PUT|POST) /,
      403,
      'AccessDenied',
      'permission_denied',
      'Failed',
    ),
    answered(
      store,
      '503 three times',
      /^(PUT|POST) /,
      503,
      'ServiceUnavailable',
      'store_fault',
      'tried again',
    ),
    silent(store, /^(PUT|POST) /),
  ];
}
