import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * The environment by which a process or thread of our own code keeps its compiled modules where
 * this process does; empty where this one keeps none.
 */
export function compiledModules(): Record<string, string> {
  const cache = getCompileCacheDir();
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
}
