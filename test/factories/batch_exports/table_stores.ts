import { randomUUID } from 'node:crypto';
import type { Harness } from '../../harness.ts';
import { startSeaweedfs, without_seaweedfs } from '../../servers/lake/seaweedfs.ts';
import { openAzureServer } from '../../servers/object_stores/azure_server.ts';
import { openGcsServer } from '../../servers/object_stores/gcs_server.ts';
import { openS3Server } from '../../servers/object_stores/s3_server.ts';

const bucket = 'tables';

/** The stores of tables besides the export folder. */
export const table_stores = ['S3', 'GCS', 'AzureBlob', 'SeaweedFS'] as const;

/** One of `table_stores`. */
export type TableStoreName = (typeof table_stores)[number];

/** Why a test with a store has to be skipped; false if it can run. */
export const withoutStore = (name: TableStoreName): string | false =>
  name === 'SeaweedFS' && without_seaweedfs;

/** A store on 127.0.0.1; each config has its own folder. */
export type TableStore = {
  config(): Record<string, unknown>;
  close(): Promise<void>;
};

/** Opens a store, and connects a harness's Google token service to it. */
export async function openTableStore(
  name: TableStoreName,
  { deps: { engine } }: Harness,
): Promise<TableStore> {
  const prefixed = (keys: Record<string, unknown>) => () => ({
    ...keys,
    storage: name === 'SeaweedFS' ? 'S3' : name,
    prefix: `p${randomUUID()}`,
  });
  if (name === 'S3' || name === 'SeaweedFS') {
    const s3 = await (name === 'S3' ? openS3Server : startSeaweedfs)([bucket]);
    const config = prefixed({
      bucket_name: bucket,
      region: 'us-east-1',
      aws_access_key_id: s3.access_key,
      aws_secret_access_key: s3.secret_key,
      endpoint_url: s3.endpoint,
    });
    return { config, close: () => s3.close() };
  }
  if (name === 'GCS') {
    const gcs = await openGcsServer([bucket]);
    const { outbound } = engine;
    engine.outbound = gcs.reroute(outbound);
    const { service_account_json, endpoint: endpoint_url } = gcs;
    const config = prefixed({ bucket_name: bucket, service_account_json, endpoint_url });
    const close = async () => {
      engine.outbound = outbound;
      await gcs.close();
    };
    return { config, close };
  }
  const azure = await openAzureServer();
  const { account_name, account_key, endpoint: endpoint_url } = azure;
  const { ContainerClient, StorageSharedKeyCredential } = await import('@azure/storage-blob');
  const credential = new StorageSharedKeyCredential(account_name, account_key);
  await new ContainerClient(`${endpoint_url}/${bucket}`, credential).createIfNotExists();
  const config = prefixed({ account_name, account_key, endpoint_url, container_name: bucket });
  return { config, close: () => azure.close() };
}
