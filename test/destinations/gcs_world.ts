import { after } from 'node:test';
import { openGcsServer } from '../servers/gcs_server.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { GcsConfig } from '../../server/engine/destinations/gcs/config.ts';

/** The bucket of the tests. */
export const bucket_name = 'test-bucket';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });

/** The storage; closed after the tests of the file that imports it. */
export const server = await openGcsServer([bucket_name]);

/** What the house gives to the destination. */
export const deps = {
  log: silentLog(),
  outbound: server.reroute(outbound),
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};

/** A config with a place for each test still to be named. */
export const base: GcsConfig = {
  bucket_name,
  prefix: '',
  service_account_json: server.service_account_json,
  endpoint_url: server.endpoint,
};

/** The names of the objects under a prefix, sorted. */
export const names = (prefix: string) =>
  [...server.objects(bucket_name).keys()].filter((name) => name.startsWith(prefix)).sort();

/** The keys of the uploads under a prefix that are not ended. */
export const open = (prefix: string) =>
  server.openUploads(bucket_name).filter((key) => key.startsWith(prefix));

/** The account with other values of some keys. */
export const accountWith = (changes: object) =>
  JSON.stringify({ ...(JSON.parse(base.service_account_json) as object), ...changes });

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  after(async () => {
    await server.close();
    await outbound.close();
  });
}
