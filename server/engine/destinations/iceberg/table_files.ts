import { buffer } from 'node:stream/consumers';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { UnreadableFileError } from '../../model/destination/table_files.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import { sameUri } from '../../model/lake_catalog/file_uri.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { isInPlace } from './world.ts';

/**
 * Opens the files of a table in a place, below `folder`; makes no request yet. Guarantee: it never
 * reads, writes or removes a file elsewhere, or of another project, whatever a client's manifest
 * names.
 */
export async function openTableFiles(
  place: LakePlace,
  config: Config,
  { team_id, folder: within }: { team_id: number; folder: string },
  deps: DestinationDeps,
): Promise<TableFiles> {
  const root = place.root(config, deps);
  const files = await place.openFiles(config, deps);
  const folder = place.folder?.(team_id);
  const base = folder === undefined ? root : `${root}${folder}/`;
  const own = `${within}/`;
  const nameOf = (given: string) => {
    const uri = sameUri(given);
    const outside = [base, own].find((one) => !isInPlace({ base: one }, `${uri}/`));
    if (outside !== undefined)
      throw new UnreadableFileError(`The file ${uri} lies outside of ${outside}.`);
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
