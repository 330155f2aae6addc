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
/** The parts that the server passes to the destination. */
export let deps: DestinationDeps;
/** A config whose place each test still has to name. */
export let base: GcsConfig;

/** The names of the objects under a prefix, sorted. */
export const names = (prefix: string) =>
  [...server.objects(bucket_name).keys()].filter((name) => name.startsWith(prefix)).sort();

/** The keys of the open uploads under a prefix. */
export const open = (prefix: string) =>
  server.openUploads(bucket_name).filter((key) => key.startsWith(prefix));

/** The account with other values of some keys. */
export const accountWith = (changes: object) =>
  JSON.stringify({ ...(JSON.parse(base.service_account_json) as object), ...changes });

/** Opens the exports of this file; files that need it run one after another. */
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
