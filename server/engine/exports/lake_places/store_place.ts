import { buffer } from 'node:stream/consumers';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { Config, LakePlace as TablePlace } from '../../destinations/lake/place.ts';
import { constantPart } from './bucket_place.ts';
import type { LakePlace } from './lake_place.ts';

/**
 * A store that issues no credentials for clients: Google Cloud Storage or Azure Blob Storage.
 * Clients read the files with their own credentials.
 */
export function storePlace(
  place: TablePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): LakePlace {
  const root = place.root(config, deps);
  const nameOf = (uri: string) => {
    if (!uri.startsWith(root) || uri.split('/').includes('..'))
      throw new LakeRefused('ForbiddenException', `${uri} lies outside of ${root}.`);
    return uri.slice(root.length);
  };
  const files = () => place.openFiles(config, deps);
  return {
    // Projects may share a store, and credentials reach everything below a location.
    root: `${root}${constantPart((config['prefix'] as string | undefined) ?? '')}lake/${team_id}`,
    config: {},
    writeFile: async (uri, text) => (await files()).put(nameOf(uri), text),
    prepare: async () => undefined,
    readFile: async (uri) => {
      const content = await (await files()).read(nameOf(uri));
      return content && buffer(content);
    },
    removeAll: async (location) => {
      const store = await files();
      for await (const name of store.listAll(nameOf(location))) await store.remove(name);
    },
    grant: async () => undefined,
  };
}
