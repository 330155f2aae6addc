import { buffer } from 'node:stream/consumers';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import type { Config, LakePlace } from '../lake/place.ts';

/** Opens the files of the tables in a place; makes no request yet. */
export async function openTableFiles(
  place: LakePlace,
  config: Config,
  deps: DestinationDeps,
): Promise<TableFiles> {
  const root = place.root(config, deps);
  const files = await place.openFiles(config, deps);
  const nameOf = (uri: string) => {
    if (!uri.startsWith(root)) throw new Error(`The file ${uri} lies outside of ${root}.`);
    return uri.slice(root.length);
  };
  return {
    root,
    read: async (uri) => {
      const content = await files.read(nameOf(uri));
      return content && buffer(content);
    },
    put: async (uri, content) => {
      deps.signal.throwIfAborted();
      await files.put(nameOf(uri), content);
    },
    remove: async (uri) => {
      deps.signal.throwIfAborted();
      await files.remove(nameOf(uri));
    },
    list: async function* (folder) {
      for await (const name of files.listAll(nameOf(folder))) yield root + name;
    },
    writtenAt: (uri) => files.writtenAt(nameOf(uri)),
  };
}
