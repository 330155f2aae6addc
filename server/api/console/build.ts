import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takes } from '../../platform/http/accept.ts';

/** A built file, as it is sent. */
export type Asset = { bytes: Buffer; type: string; encoding: 'br' | 'gzip' | undefined };

/**
 * The output of `npm run prepare`. It is read from disk each time, so a new build needs no restart.
 */
export type BuiltConsole = {
  folder: string;
  /** Returns the console, or the reference of the API. */
  readPage(name: 'index' | 'reference'): Promise<string | undefined>;
};

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** The build of this checkout. */
export const built_console = openBuild(
  fileURLToPath(new URL('../../../console/dist', import.meta.url)),
);

/** Opens the build in a folder; its page is undefined if it does not exist. */
export function openBuild(folder: string): BuiltConsole {
  return {
    folder,
    readPage: async (name) => (await read(join(folder, `${name}.html`)))?.toString('utf8'),
  };
}

/**
 * Returns the file of that name in the client's best encoding; undefined if the build has no such
 * file.
 */
export async function readAsset(
  { folder }: BuiltConsole,
  name: string,
  accepted = '',
): Promise<Asset | undefined> {
  const type = types[extname(name)];
  if (type === undefined || !/^[\w-]+\.[\w.-]+$/.test(name)) return undefined;
  const path = join(folder, 'assets', name);
  for (const [encoding, ending] of encodings) {
    if (!takes(accepted, [encoding])) continue;
    const bytes = await read(path + ending);
    if (bytes !== undefined) return { bytes, type, encoding };
  }
  const bytes = await read(path);
  return bytes === undefined ? undefined : { bytes, type, encoding: undefined };
}

/** Reads a file; undefined if there is none. */
export async function read(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
