import { existsSync, readdirSync, rmSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { release } from '../../platform/version.ts';

/**
 * Keeps what is compiled of the modules loaded from here on in the data folder, where the next
 * start of this release finds it, and removes what other releases left. Does nothing where there is
 * no such folder, or none that can be written, or NODE_COMPILE_CACHE names another. Node checks
 * each entry by the content of its module.
 */
export function keepCompiledModules(data_dir: string): void {
  if (getCompileCacheDir() !== undefined || !existsSync(data_dir)) return;
  const folder = join(data_dir, 'compiled');
  enableCompileCache(join(folder, release));
  try {
    for (const other of readdirSync(folder))
      if (other !== release) rmSync(join(folder, other), { recursive: true, force: true });
  } catch {
    // It is not there, or not ours to write.
  }
}
