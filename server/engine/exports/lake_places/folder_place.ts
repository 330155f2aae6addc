import { open, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { createFolders, syncFolder } from '../../../platform/folders.ts';
import { textOfFile } from '../../model/lake_catalog/packed_text.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { LakePlace } from './lake_place.ts';

const scheme = 'file://';

/**
 * The server's export folder, with a folder in it for new tables of the project. Clients on the
 * same machine read and write files there by their paths, as far as the system lets them; nothing
 * is vended. Guarantee: nothing outside of the export folder is read or written, also where a part
 * of a path is a symbolic link.
 */
export function folderPlace(export_dir: string, team_id: number): LakePlace {
  const createFolder = async (path: string) => {
    await createFolders(path);
    await requireInside(export_dir, path);
  };
  return {
    root: scheme + join(export_dir, 'lake', String(team_id)),
    config: {},
    writeFile: async (uri, text) => {
      const path = pathOf(export_dir, uri);
      await createFolder(dirname(path));
      const file = await open(path, 'wx');
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await syncFolder(dirname(path));
    },
    // Some clients do not create the folders of the files that they write.
    prepare: async (location) => {
      const path = pathOf(export_dir, location);
      for (const part of ['data', 'metadata']) await createFolder(join(path, part));
    },
    readFile: async (uri) => {
      const path = pathOf(export_dir, uri);
      try {
        await requireInside(export_dir, dirname(path));
        return textOfFile(uri, await readFile(path));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    removeAll: async (location) => {
      const path = pathOf(export_dir, location);
      await requireInside(export_dir, dirname(path));
      await rm(path, { recursive: true, force: true });
    },
    grant: async () => undefined,
  };
}

function pathOf(folder: string, uri: string): string {
  const path = uri.startsWith(scheme) ? uri.slice(scheme.length) : undefined;
  const parts = path?.split('/') ?? [];
  if (path === undefined || !path.startsWith(folder + sep) || parts.includes('..'))
    throw outside(uri);
  return path;
}

async function requireInside(folder: string, path: string): Promise<void> {
  const [real_folder, real] = [await realpath(folder), await realpath(path)];
  if (real !== real_folder && !real.startsWith(real_folder + sep)) throw outside(path);
}

function outside(uri: string): LakeRefused {
  return new LakeRefused('ForbiddenException', `${uri} lies outside of the place of the project.`);
}
