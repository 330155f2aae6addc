import { extname } from 'node:path';

/**
 * The address of a module beside the caller's, for threads and processes that start with it. It has
 * the caller's ending: `.ts` in a checkout, `.js` in the package that is built of it.
 */
export function moduleBeside(caller: ImportMeta, name: string): URL {
  return new URL(`${name}${extname(caller.filename)}`, caller.url);
}
