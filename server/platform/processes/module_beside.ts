import { extname } from 'node:path';

/**
 * Returns the URL of a module beside the caller's, for threads and processes that start with it. It
 * has the caller's extension: `.ts` in a checkout, `.js` in the built package.
 */
export function moduleBeside(caller: ImportMeta, name: string): URL {
  return new URL(`${name}${extname(caller.filename)}`, caller.url);
}
