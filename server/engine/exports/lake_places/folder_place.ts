import { open, readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { createFolders, syncFolder } from '../../../platform/folders/folders.ts';
import { sameUri } from '../../model/lake_catalog/file_uri.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { LakePlace } from './lake_place.ts';

const scheme = 'file://';

/**
 * The folder of the project's tables in the server's export folder. Clients on the same machine
 * read and write files there by path, if the system permits it; no credentials are vended.
 * Guarantee: it reads and writes nothing outside the project's folder, even if a part of a path is
 * a symbolic link.
 */
export function folderPlace(export_dir: string, team_id: number): LakePlace {
  const root = join(export_dir, 'lake', String(team_id));
  const createFolder = async (path: string) => {
    await createFolders(path);
    await requireInside(root, path);
  };
  return {
    root: scheme + root,
    config: {},
    writeFile: async (uri, text) => {
      const path = pathOf(root, uri);
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
    // Some clients do not create the folders of their files.
    prepare: async (location) => {
      const path = pathOf(root, location);
      for (const part of ['data', 'metadata']) await createFolder(join(path, part));
    },
    readFile: async (uri) => {
      const path = pathOf(root, uri);
      try {
        await requireInside(root, dirname(path));
        return await readFile(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    removeAll: async (location) => {
      const path = pathOf(root, location);
      await requireInside(root, dirname(path));
      await rm(path, { recursive: true, force: true });
    },
    grant: async () => undefined,
  };
}

function pathOf(folder: string, uri: string): string {
  const same = sameUri(uri);
  const path = same.startsWith(scheme) ? same.slice(scheme.length) : undefined;
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
