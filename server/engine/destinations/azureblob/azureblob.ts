import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { defineObjectStore } from '../object_store/define.ts';
import { azureblob_config, azureblobViolations } from './config.ts';
import { readConnectionString } from './connection_string.ts';
import { openContainer } from './container.ts';

/** Block blobs in a container of Azure Blob Storage. */
export const azureblob: DestinationDefinition<typeof azureblob_config> = defineObjectStore({
  type: 'AzureBlob',
  label: 'Azure Blob Storage',
  config: azureblob_config,
  secrets: ['connection_string', 'account_key', 'sas_token'],
  where: ['account_name', 'connection_string', 'endpoint_url'],
  connection: ['connection_string', 'account_name', 'account_key', 'sas_token', 'endpoint_url'],
  validate: azureblobViolations,
  place: (config) => endpointIn(config.connection_string ?? ''),
  openStore: (config, deps) => openContainer(config, deps.outbound, deps.signal),
});

/**
 * The account that a connection string leads to; its key may change without the data lying
 * elsewhere.
 */
function endpointIn(connection_string: string): string {
  const access = readConnectionString(connection_string);
  return typeof access === 'string' ? '' : access.endpoint;
}
