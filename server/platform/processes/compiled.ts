import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * Returns the environment that makes a process or thread of our own code use this one's compile
 * cache; empty without a cache.
 */
export function compiledModules(): Record<string, string> {
  const cache = getCompileCacheDir();
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
}
