import { Readable } from 'node:stream';
import {
  ContainerClient,
  ContainerSASPermissions,
  StorageSharedKeyCredential,
  generateBlobSASQueryParameters,
} from '@azure/storage-blob';
import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openAzureServer } from '../servers/object_stores/azure_server.ts';
import type { AzureServer } from '../servers/object_stores/azure_server.ts';
import type { AzureBlobConfig } from '../../server/engine/destinations/azureblob/config.ts';

/** The container of the tests. */
export const container_name = 'test-container';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

/** Azurite. */
export let server: AzureServer;
let credential: StorageSharedKeyCredential;
/** The SDK as users have it, without the guard and our own code. */
export let reader: ContainerClient;
/** A config whose place each test still has to name. */
export let base: AzureBlobConfig;

/** A shared access signature with these rights. */
export function signatureFor(rights: string): string {
  const permissions = ContainerSASPermissions.parse(rights);
  return generateBlobSASQueryParameters(
    { containerName: container_name, permissions, expiresOn: new Date('2100-01-01') },
    credential,
  ).toString();
}

/** The names of the blobs under a prefix, sorted. */
export async function names(prefix: string, includeUncommitedBlobs = false): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of reader.listBlobsFlat({ prefix, includeUncommitedBlobs }))
    found.push(name);
  return found.sort();
}

/** A stream of these bytes. */
export const text = (bytes: string) => Readable.from([Buffer.from(bytes)]);

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    server = await openAzureServer();
    const { account_name, account_key, endpoint: endpoint_url } = server;
    credential = new StorageSharedKeyCredential(account_name, account_key);
    reader = new ContainerClient(`${endpoint_url}/${container_name}`, credential);
    await reader.create();
    base = { container_name, prefix: '', account_name, account_key, endpoint_url };
  },
  async () => {
    await deps.outbound.close();
    await server.close();
  },
);
