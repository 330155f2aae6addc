import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { takes } from '../../platform/http/accept.ts';
import type { Asset } from './build.ts';
import { read } from './build.ts';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.gif': 'image/gif',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
const name = String.raw`[\w@-][\w@.-]*`;
const safe_path = new RegExp(`^(?:${name}/)*(?:${name})?$`);

/** The folder of the built docs (`npm run prepare`); text in it is compressed by brotli. */
export const built_site = {
  folder: fileURLToPath(new URL('../../../site/dist', import.meta.url)),
};

/**
 * Reads a file of the docs by its path below `/docs/`; undefined if it does not exist. A page is
 * also found without its extension, and a folder by its index.
 */
export async function readSiteFile(path: string, accepted = ''): Promise<Asset | undefined> {
  if (!safe_path.test(path)) return undefined;
  const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
  return (
    (await readWhole(file, accepted)) ??
    (file.endsWith('.html') ? undefined : readWhole(`${file}.html`, accepted))
  );
}

/** True if the docs have a file at the path, as `readSiteFile` finds it. */
export async function hasSiteFile(path: string): Promise<boolean> {
  return (await readSiteFile(path, 'br')) !== undefined;
}

async function readWhole(file: string, accepted: string): Promise<Asset | undefined> {
  const type = types[extname(file)];
  if (type === undefined) return undefined;
  const packed = await read(join(built_site.folder, `${file}.br`));
  if (packed === undefined) {
    const bytes = await read(join(built_site.folder, file));
    return bytes === undefined ? undefined : { bytes, type, encoding: undefined };
  }
  if (takes(accepted, ['br'])) return { bytes: packed, type, encoding: 'br' };
  return { bytes: await promisify(brotliDecompress)(packed), type, encoding: undefined };
}
