import { destinationDeps } from './destination_deps.ts';
import { betweenFiles } from '../between_files.ts';
import { openGcsServer } from '../servers/object_stores/gcs_server.ts';
import type { GcsServer } from '../servers/object_stores/gcs_server.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { DestinationDeps } from '../../server/engine/model/destination/destination.ts';
import type { GcsConfig } from '../../server/engine/destinations/gcs/config.ts';

/** The bucket of the tests. */
export const bucket_name = 'test-bucket';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });

/** The storage. */
export let server: GcsServer;
/** The parts that the server gives to the destination. */
export let deps: DestinationDeps;
/** A config with a place for each test still to be named. */
export let base: GcsConfig;

/** The names of the objects under a prefix, sorted. */
export const names = (prefix: string) =>
  [...server.objects(bucket_name).keys()].filter((name) => name.startsWith(prefix)).sort();

/** The keys of the uploads under a prefix that are not ended. */
export const open = (prefix: string) =>
  server.openUploads(bucket_name).filter((key) => key.startsWith(prefix));

/** The account with other values of some keys. */
export const accountWith = (changes: object) =>
  JSON.stringify({ ...(JSON.parse(base.service_account_json) as object), ...changes });

/** Opens what this file exports; for files that need it, one after the other. */
export const openAroundTests = betweenFiles(
  async () => {
    server = await openGcsServer([bucket_name]);
    deps = destinationDeps(server.reroute(outbound));
    const { service_account_json, endpoint: endpoint_url } = server;
    base = { bucket_name, prefix: '', service_account_json, endpoint_url };
  },
  async () => {
    await server.close();
    await outbound.close();
  },
);
