/**
 * Builds the site of the docs into `site/dist` (`npm run prepare`): pages, their search index and
 * what they load. Text is kept compressed by brotli alone, because nothing reads it from the disk
 * but the server. An up-to-date build stays. A dead link ends the build with 1. If the packages for
 * the build are missing (`--omit=dev`), it says so and builds nothing.
 */
import { globSync } from 'node:fs';
import { glob, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { root } from '../child.ts';
import { findPages } from '../site/pages.ts';
import { stageSite } from '../site/stage.ts';
import { digestFiles, findTools, isBuiltFrom } from './built_from.ts';

const target = join(root, 'site/dist');
/** A file of the build, written last: a digest of its inputs. */
const origin_file = join(target, '.built_from');
const brotli_quality = 7;

const { pages, files, pictures } = findPages();
const origin = await digestFiles([
  'package-lock.json',
  'console/icon.svg',
  'server/platform/version.ts',
  'scripts/package/build_site.ts',
  ...globSync('scripts/site/*', { cwd: root }),
  ...[pages, files, pictures].flatMap((each) => [...each.keys()]),
]);
const isBuilt = await isBuiltFrom(origin_file, origin);
const tools = isBuilt ? undefined : await findTools(() => import('vitepress'));
if (isBuilt) console.log('The docs are built from these pages already.');
else if (tools === undefined)
  console.log('The docs are not built: their packages are not installed (npm ci).');
else {
  const started = performance.now();
  stageSite(join(root, 'site'));
  await rm(target, { recursive: true, force: true });
  await tools.build(join(root, 'site'), { onAfterConfigResolve: () => undefined });
  await compressText();
  await writeFile(origin_file, origin);
  console.log(`The docs are built (${((performance.now() - started) / 1000).toFixed(1)} s).`);
}

/** Replaces each text file by `name.br`. */
async function compressText(): Promise<void> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotli_quality };
  for await (const name of glob('**/*.{html,js,css,json,svg}', { cwd: target })) {
    const path = join(target, name);
    const bytes = await promisify(brotliCompress)(await readFile(path), { params });
    await Promise.all([writeFile(`${path}.br`, bytes), rm(path)]);
  }
}
