import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PluginError, invalidPackage } from '../../plugin.ts';
import type { PluginFiles } from '../../plugin.ts';
import { openCollector } from '../archives/collector.ts';
import type { Collector } from '../archives/collector.ts';
import { assemblePackage } from '../content.ts';
import { isLeftOut, nameFault, showName } from '../archives/file_names.ts';
import { package_limits } from '../limits.ts';
import type { Origin } from './origin.ts';

/**
 * The origin of a folder below the server's plugin folder. Guarantee: it reads nothing outside the
 * plugin folder, whatever links it contains. It refuses links within the package and anything that
 * is neither file nor folder. The limits of archives apply.
 */
export function openLocalOrigin(folder: string, plugin_dir: string): Origin {
  const fault = nameFault(folder);
  if (fault !== undefined)
    throw invalidPackage(
      `The name ${showName(folder)} ${fault}. Give the name of a folder in the server's ` +
        'plugin folder.',
    );
  const read = async (signal: AbortSignal) =>
    assemblePackage(await readFolder(await realFolder(folder, plugin_dir), signal), null);
  return {
    kind: 'local',
    shown_url: `file:${folder}`,
    findLatest: async (signal) => (await read(signal)).tag,
    fetch: (_tag, signal) => read(signal),
  };
}

async function realFolder(folder: string, plugin_dir: string): Promise<string> {
  try {
    const root = await realpath(plugin_dir);
    const real = await realpath(join(root, folder));
    if (real.startsWith(root + sep) && (await stat(real)).isDirectory()) return real;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw unreadable(folder, error);
  }
  throw new PluginError(
    'not_found',
    `The server's plugin folder has no folder ${showName(folder)}. Put the package there, or ` +
      'correct the name.',
  );
}

async function readFolder(root: string, signal: AbortSignal): Promise<PluginFiles> {
  const collector = openCollector(package_limits, undefined);
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(
      (error: unknown) => Promise.reject(unreadable(folder, error)),
    )) {
      signal.throwIfAborted();
      if (isLeftOut(entry.name)) continue;
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        collector.add('folder', name);
        await walk(name);
      } else if (entry.isFile()) await readFile(root, collector.add('file', name), collector);
      else
        throw invalidPackage(
          `The folder has ${showName(name)}, which is a link or no file. Put a copy of the ` +
            'file in its place.',
        );
    }
  };
  await walk('');
  return collector.finish();
}

async function readFile(root: string, name: string, collector: Collector): Promise<void> {
  try {
    // A link may have replaced the file since the folder was read.
    await using file = await open(join(root, name), constants.O_RDONLY | constants.O_NOFOLLOW);
    const { size } = await file.stat();
    collector.count(size);
    collector.keep(name, (await file.readFile()).subarray(0, size));
  } catch (error) {
    throw error instanceof PluginError ? error : unreadable(name, error);
  }
}

function unreadable(name: string, cause: unknown): PluginError {
  return new PluginError(
    'refused',
    `The server may not read ${showName(name)} of its plugin folder. Give its user read ` +
      'permission.',
    { cause },
  );
}
