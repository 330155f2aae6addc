import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { openBucket } from '../../server/engine/object_store/s3_bucket.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openAzureServer } from '../servers/azure_server.ts';
import { openGcsServer } from '../servers/gcs_server.ts';
import { openS3Server } from '../servers/s3_server.ts';
import type { Ending, FaultCase, OpenFaults, Scene } from './matrix.ts';
import { eventually } from '../eventually.ts';
import { impatient, records } from './matrix.ts';

type Faulty = {
  requests: string[];
  failNext(pattern: RegExp, status: number, code: string): void;
  holdNext(pattern: RegExp): void;
};
type Store = {
  destination: string;
  server: Faulty;
  place(): Scene & { config: Record<string, unknown> };
};

/** As often as a client sends a request within one attempt. */
const tries = 3;
const bucket_name = 'exports';
/** One file holds all rows of these exports, so it is seen whole or not at all. */
const rowsOf = (names: string[]) =>
  names.filter((name) => name.endsWith('.jsonl')).length * records;
let places = 0;

/** Faults of stores of objects, on stand-ins that are closed with `close`. */
export async function openObjectFaults(): Promise<OpenFaults> {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const [s3, azure, gcs] = await Promise.all([
    openS3Server([bucket_name]),
    openAzureServer(),
    openGcsServer([bucket_name]),
  ]);
  const container = new ContainerClient(
    `${azure.endpoint}/${bucket_name}`,
    new StorageSharedKeyCredential(azure.account_name, azure.account_key),
  );
  await container.create();
  const s3Place = () => {
    const prefix = `place-${(places += 1)}`;
    const access = {
      bucket_name,
      region: 'us-east-1',
      aws_access_key_id: s3.access_key,
      aws_secret_access_key: s3.secret_key,
      endpoint_url: s3.endpoint,
    };
    const names = () =>
      openBucket(access, outbound, new AbortController().signal).list(`${prefix}/`, {
        direct: false,
      });
    return {
      config: { ...access, prefix },
      visible: async () => rowsOf(await Array.fromAsync(names())),
    };
  };
  const azurePlace = () => {
    const prefix = `place-${(places += 1)}`;
    const config = {
      container_name: bucket_name,
      prefix,
      account_name: azure.account_name,
      account_key: azure.account_key,
      endpoint_url: azure.endpoint,
    };
    return {
      config,
      visible: async () =>
        rowsOf(
          (await Array.fromAsync(container.listBlobsFlat({ prefix }))).map(({ name }) => name),
        ),
    };
  };
  const gcsPlace = (): Scene => {
    const prefix = `place-${(places += 1)}`;
    return {
      config: {
        bucket_name,
        prefix,
        service_account_json: gcs.service_account_json,
        endpoint_url: gcs.endpoint,
      },
      visible: async () =>
        rowsOf([...gcs.objects(bucket_name).keys()].filter((name) => name.startsWith(prefix))),
      engine: (engine) => ({ ...engine, outbound: gcs.reroute(engine.outbound) }),
    };
  };
  const openUploads = (prefix: string) =>
    s3.openUploads(bucket_name).filter((key) => key.startsWith(prefix)).length;
  const cases = [
    ...s3Faults({ destination: 'S3', server: s3, place: s3Place }),
    awayWhenCancelled({ destination: 'S3', server: s3, place: s3Place }, openUploads),
    ...azureFaults({ destination: 'AzureBlob', server: azure, place: azurePlace }),
    ...gcsFaults({ destination: 'GCS', server: gcs, place: gcsPlace }),
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
    hanging(store, /^(PUT|POST) /),
    silent(store, /^(PUT|POST) /),
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

/** Nothing mends it but another config. */
function configured(
  { destination, place }: Store,
  fault: string,
  code: string,
  changes: Record<string, unknown>,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    return { ...scene, config: { ...scene.config, ...changes }, is_lasting: true };
  };
  return { destination, fault, code, ending: 'Failed', prepare };
}

/** The requests below the export's own prefix are answered so, as often as the client tries. */
function answered(
  { destination, server, place }: Store,
  fault: string,
  request: RegExp,
  status: number,
  name: string,
  code: string,
  ending: Ending,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    const times = ending === 'tried again' && status !== 404 ? tries : 1;
    const pattern = below(request, scene);
    return {
      ...scene,
      strike: async () =>
        Array(times)
          .fill(0)
          .forEach(() => server.failNext(pattern, status, name)),
    };
  };
  return { destination, fault, code, ending, prepare };
}

function hanging({ destination, server, place }: Store, request: RegExp): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    const pattern = below(request, scene);
    return {
      ...scene,
      strike: async () => server.holdNext(pattern),
      meanwhile: async () => {
        await eventually('it has never come to the fault', () =>
          server.requests.some((line) => pattern.test(line)),
        );
        return 'cancelled';
      },
    };
  };
  return {
    destination,
    fault: 'it hangs, and the run is cancelled',
    code: 'cancelled',
    ending: 'Cancelled',
    prepare,
  };
}

function silent({ destination, server, place }: Store, request: RegExp): FaultCase {
  return impatient(destination, async () => {
    const scene = place();
    return { ...scene, strike: async () => server.holdNext(below(request, scene)) };
  });
}

/**
 * What was written so far is removed all the same, as soon as the store is there again: `visible`
 * counts uploads that nobody has ended, too.
 */
function awayWhenCancelled(
  { destination, server, place }: Store,
  openUploads: (prefix: string) => number,
): FaultCase {
  const prepare = async (): Promise<Scene> => {
    const scene = place();
    const prefix = `${String(scene.config['prefix'])}/`;
    const held = below(/^PUT /, scene);
    return {
      ...scene,
      visible: async () => (await scene.visible()) + openUploads(prefix),
      strike: async () => server.holdNext(held),
      meanwhile: async () => {
        await eventually('it has never come to the fault', () =>
          server.requests.some((line) => held.test(line)),
        );
        for (const question of [below(/^DELETE /, scene), /^GET .*uploads/])
          for (let count = 0; count < tries; count += 1) server.failNext(question, 503, 'SlowDown');
        return 'cancelled';
      },
    };
  };
  return {
    destination,
    fault: 'it hangs, the run is cancelled, and it is away for a moment',
    code: 'cancelled',
    ending: 'Cancelled',
    prepare,
  };
}

/**
 * The pattern for the lines that name the scene's own prefix, so that no fault is left for another
 * scene.
 */
function below(request: RegExp, { config }: Scene): RegExp {
  const { source } = request;
  return new RegExp(
    `^(?=.*${String(config['prefix'])}[^0-9])${source.startsWith('^') ? source.slice(1) : `.*${source}`}`,
  );
}
