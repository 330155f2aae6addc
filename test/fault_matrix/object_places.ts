import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { openBucket } from '../../server/engine/destinations/object_store/s3_bucket.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import type { AzureServer } from '../servers/object_stores/azure_server.ts';
import type { GcsServer } from '../servers/object_stores/gcs_server.ts';
import type { S3Server } from '../servers/object_stores/s3_server.ts';
import { records } from './matrix.ts';
import type { Scene } from './matrix.ts';

/** The bucket of all stores. */
export const bucket_name = 'exports';
/** One file contains all rows of these exports, so a reader sees all or nothing. */
const rowsOf = (names: string[]) =>
  names.filter((name) => name.endsWith('.jsonl')).length * records;
let places = 0;

/** Creates places in an S3 store. */
export function s3Places(s3: S3Server, outbound: Outbound): () => Scene {
  return () => {
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
}

/** Creates places in an Azure store, whose container is created first. */
export async function azurePlaces(azure: AzureServer): Promise<() => Scene> {
  const container = new ContainerClient(
    `${azure.endpoint}/${bucket_name}`,
    new StorageSharedKeyCredential(azure.account_name, azure.account_key),
  );
  await container.create();
  return () => {
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
}

/** Creates places in a Google Cloud Storage. */
export function gcsPlaces(gcs: GcsServer): () => Scene {
  return (): Scene => {
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
}
