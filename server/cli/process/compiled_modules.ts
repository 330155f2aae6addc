import { existsSync, readdirSync, rmSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { release } from '../../platform/version.ts';

/**
 * Keeps the compiled code of the modules loaded from here on in the data folder, for the next start
 * of this release. Removes the folders of other releases. Does nothing if the folder does not exist
 * or is not writable, or if NODE_COMPILE_CACHE names another. Node checks each entry by the content
 * of its module.
 */
export function keepCompiledModules(data_dir: string): void {
  if (getCompileCacheDir() !== undefined || !existsSync(data_dir)) return;
  const folder = join(data_dir, 'compiled');
  enableCompileCache(join(folder, release));
  try {
    for (const other of readdirSync(folder))
      if (other !== release) rmSync(join(folder, other), { recursive: true, force: true });
  } catch {
    // The folder does not exist, or this user may not write there.
  }
}
