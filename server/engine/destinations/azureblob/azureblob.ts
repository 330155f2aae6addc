import type {
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { LakePlace } from '../lake/place.ts';
import { defineObjectStore, smallFiles } from '../object_store/define.ts';
import type { ObjectStore } from '../object_store/object_store.ts';
import { accessOf, azureblob_config, azureblobViolations } from './config.ts';
import type { AzureBlobConfig } from './config.ts';
import { readConnectionString } from './connection_string.ts';
import { openContainer } from './container.ts';

/** Block blobs in a container of Azure Blob Storage. */
export const azureblob: DestinationDefinition<typeof azureblob_config> = defineObjectStore({
  type: 'AzureBlob',
  label: 'Azure Blob Storage',
  config: azureblob_config,
  package: '@azure/storage-blob',
  secrets: ['connection_string', 'account_key', 'sas_token'],
  where: ['account_name', 'connection_string', 'endpoint_url'],
  connection: ['connection_string', 'account_name', 'account_key', 'sas_token', 'endpoint_url'],
  validate: azureblobViolations,
  place: (config) => endpointIn(config.connection_string ?? ''),
  openStore,
});

/** A place for tables in a container. */
export const azureblob_place: LakePlace = {
  definition: azureblob,
  openFiles: (config, deps) => smallFiles(openStore(config as AzureBlobConfig, deps)),
  root: (config) => {
    const { endpoint } = accessOf(config as AzureBlobConfig);
    const host = new URL(endpoint).host.replace('.blob.', '.dfs.');
    return `abfss://${String(config['container_name'])}@${host}/`;
  },
};

function openStore(config: AzureBlobConfig, deps: DestinationDeps): Promise<ObjectStore> {
  return openContainer(config, deps.outbound, deps.signal);
}

/** Returns the account of a connection string; its key may change without a move of the data. */
function endpointIn(connection_string: string): string {
  const access = readConnectionString(connection_string);
  return typeof access === 'string' ? '' : access.endpoint;
}
